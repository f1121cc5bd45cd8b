"""Footers of files whose timestamps are INT96, Parquet's old form, read as 12 plain bytes.

Paimon's Java stores TIMESTAMP of 7 to 9 digits so, a time before 1970 as a negative number of
nanoseconds of its day. pyarrow takes that number for one without a sign, which gives a time 584
years later. The bytes are the same in both types, so a changed footer is all it takes; `types`
makes times of the bytes. The places of fields are those of parquet.thrift, in the compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator

_TYPE = b"\x15"  # field 1, which is an i32
_INT96, _FIXED = b"\x06", b"\x0e"  # the types 3 and 7
_LENGTH = b"\x15\x18"  # field 2 behind field 1: 12 bytes
_SCHEMA, _GROUPS, _COLUMNS, _METADATA = 2, 4, 1, 3
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_MAY_HAVE = _TYPE + _INT96
_MAGIC = b"PAR1"
_END = 4 + len(_MAGIC)


def with_plain_bytes(footer: bytes) -> bytes:
    """A footer, with its length and magic word behind it, whose INT96 columns have become
    FIXED_LEN_BYTE_ARRAY of 12. Raises IndexError if its thrift is cut.
    """
    if _MAY_HAVE not in footer:
        return footer
    edits = list(_edits(_Thrift(footer)))
    if not edits:
        return footer
    parts, done = [], 0
    for start, stop, text in edits:
        parts += [footer[done:start], text]
        done = stop
    made = b"".join([*parts, footer[done:-_END]])
    return made + len(made).to_bytes(4, "little") + footer[-len(_MAGIC) :]


Edit = tuple[int, int, bytes]  # from here to there, these bytes


def _edits(thrift: _Thrift) -> Iterator[Edit]:
    for name, kind in thrift.fields():
        if (name, kind) == (_SCHEMA, _LIST):
            for _ in thrift.items():
                yield from _of_element(thrift)
        elif (name, kind) == (_GROUPS, _LIST):
            for _ in thrift.items():
                yield from _of_group(thrift)
        else:
            thrift.skip(kind)


def _of_element(thrift: _Thrift) -> Iterator[Edit]:
    begin = thrift.at
    if thrift.data[begin : begin + 2] == _MAY_HAVE:
        following = thrift.data[begin + 2]
        one_less = following - 0x10 if following >> 4 else following  # its number is a difference
        yield begin + 1, begin + 3, _FIXED + _LENGTH + bytes([one_less])
    thrift.skip(_STRUCT)


def _of_group(thrift: _Thrift) -> Iterator[Edit]:
    for name, kind in thrift.fields():
        if (name, kind) != (_COLUMNS, _LIST):
            thrift.skip(kind)
            continue
        for _ in thrift.items():
            for inner, of in thrift.fields():
                begin = thrift.at
                thrift.skip(of)
                is_found = thrift.data[begin : begin + 2] == _MAY_HAVE
                if (inner, of) == (_METADATA, _STRUCT) and is_found:
                    yield begin + 1, begin + 2, _FIXED


class _Thrift:
    """A place in bytes of the compact protocol, which moves on as they are read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _number(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and type of each field of a struct; the caller moves on behind its value."""
        name = 0
        while header := self._byte():
            if header >> 4:
                name += header >> 4
            else:
                raw = self._number()
                name = (raw >> 1) ^ -(raw & 1)
            yield name, header & 15

    def items(self) -> range:
        """The items of a list, for the caller to read."""
        return range(self._head()[0])

    def _head(self) -> tuple[int, int]:
        header = self._byte()
        size = header >> 4
        return self._number() if size == 15 else size, header & 15

    def skip(self, kind: int, *, in_list: bool = False) -> None:
        """Move on behind a value of a type."""
        if kind in (_TRUE, _FALSE):
            self.at += in_list
        elif kind in (_BYTE, _DOUBLE):
            self.at += 1 if kind == _BYTE else 8
        elif kind == _BINARY:
            size = self._number()
            self.at += size
        elif kind in (_LIST, _SET):
            size, inner = self._head()
            for _ in range(size):
                self.skip(inner, in_list=True)
        elif kind == _MAP:
            self._skip_map()
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner)
        else:
            self._number()

    def _skip_map(self) -> None:
        size = self._number()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self.skip(kinds >> 4, in_list=True)
            self.skip(kinds & 15, in_list=True)
