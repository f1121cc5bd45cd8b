"""Thrift's binary protocol over a socket: calls of a service, with the types of values beside them.

A struct is a mapping of field numbers to typed values. Whatever a server sends is kept and can be
sent back, also fields that a newer server has and we don't know.
"""

import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any

from keyfold.errors import StoreError

STOP, BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, MAP, SET, LIST = (
    *(0, 2, 3, 4, 6, 8, 10),
    *(11, 12, 13, 14, 15),
)
_FIXED = {BOOL: "!?", BYTE: "!b", DOUBLE: "!d", I16: "!h", I32: "!i", I64: "!q"}
_VERSION, _CALL, _REPLY = 0x80010000, 1, 2
_LONGEST = 1 << 28  # bytes of a text, or items of a list; more is no Thrift at all


@dataclass(frozen=True)
class Typed:
    """A value with its type. A list has the type of its items beside them, a map two types."""

    kind: int
    value: Any


Struct = Mapping[int, Typed]


class ProtocolError(StoreError):
    """The server's answer is not one of this protocol."""


class UnknownCallError(Exception):
    """The server did not take the call at all, in its own words."""


def text(value: str) -> Typed:
    """A text."""
    return Typed(STRING, value.encode())


def number(value: int) -> Typed:
    """A whole number of 32 bits."""
    return Typed(I32, value)


def flag(value: bool) -> Typed:
    """True or false."""
    return Typed(BOOL, value)


def texts(values: Sequence[str]) -> Typed:
    """A list of texts."""
    return Typed(LIST, (STRING, [value.encode() for value in values]))


def pairs(values: Mapping[str, str]) -> Typed:
    """A map of texts to texts."""
    encoded = {name.encode(): value.encode() for name, value in values.items()}
    return Typed(MAP, (STRING, STRING, encoded))


def structs(values: Sequence[Struct]) -> Typed:
    """A list of structs."""
    return Typed(LIST, (STRUCT, list(values)))


def record(value: Struct) -> Typed:
    """A struct as the value of a field."""
    return Typed(STRUCT, value)


def _held(value: Struct, field: int, *kinds: int) -> Any:
    """The value of a field, None if it is not set. Raises ProtocolError if its type, or that of
    what it contains, is another.
    """
    found = value.get(field)
    if found is None:
        return None
    has = (found.kind, *(found.value[:-1] if len(kinds) > 1 and found.kind == kinds[0] else ()))
    is_empty = len(has) == len(kinds) > 1 and not found.value[-1]
    if has[0] != kinds[0] or (has != kinds and not is_empty):
        raise ProtocolError(
            f"an answer of a Hive Metastore has types {has} in field {field}, expected {kinds}"
        )
    return found.value


def text_of(value: Struct, field: int) -> str:
    """The text of a field, "" if it is not set."""
    found = _held(value, field, STRING)
    return "" if found is None else bytes(found).decode("utf-8", "replace")


def pairs_of(value: Struct, field: int) -> dict[str, str]:
    """The map of texts in a field, empty if it is not set."""
    found = _held(value, field, MAP, STRING, STRING)
    entries = {} if found is None else found[2]
    return {
        key.decode("utf-8", "replace"): to.decode("utf-8", "replace") for key, to in entries.items()
    }


def struct_of(value: Struct, field: int) -> Struct:
    """The struct in a field, empty if it is not set."""
    return _held(value, field, STRUCT) or {}


def items_of(value: Struct, field: int, kind: int = STRUCT) -> list[Any]:
    """The items, of that type, of the list in a field, none if it is not set."""
    found = _held(value, field, LIST, kind)
    return [] if found is None else list(found[1])


class Service:
    """An open connection to a service."""

    def __init__(self, host: str, port: int, to_connect: float, seconds: float) -> None:
        self._socket = socket.create_connection((host, port), to_connect)
        self._socket.settimeout(seconds)
        self._file = self._socket.makefile("rb")

    def close(self) -> None:
        """End it."""
        self._file.close()
        self._socket.close()

    def call(self, name: str, *arguments: Typed) -> Struct:
        """The answer: field 0 is the result, any other an exception that the service declares.

        Raises UnknownCallError if the server does not take the call, ProtocolError if it answers
        something else, OSError if it is gone.
        """
        out = BytesIO()
        out.write(struct.pack("!I", _VERSION | _CALL))
        _write(out, STRING, name.encode())
        out.write(struct.pack("!i", 0))
        _write(out, STRUCT, dict(enumerate(arguments, 1)))
        self._socket.sendall(out.getvalue())
        (version,) = struct.unpack("!I", self._exactly(4))
        if version & 0xFFFF0000 != _VERSION:
            raise ProtocolError(
                f"its answer begins with {version:#010x}, expected {_VERSION:#010x}"
            )
        answered = bytes(self._read(STRING)).decode("utf-8", "replace")
        self._exactly(4)
        answer: Struct = self._read(STRUCT)
        if version & 0xFF != _REPLY:
            raise UnknownCallError(text_of(answer, 1))
        if answered != name:
            raise ProtocolError(f"it answered {answered} when it was asked {name}")
        return answer

    def _exactly(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) < size:
            raise ConnectionError("the connection was closed amid an answer")
        return found

    def _size(self) -> int:
        size = self._read(I32)
        if not 0 <= size <= _LONGEST:
            raise ProtocolError(f"a text or list of its answer has {size} bytes or items")
        return int(size)

    def _read(self, kind: int) -> Any:
        if kind in _FIXED:
            form = _FIXED[kind]
            return struct.unpack(form, self._exactly(struct.calcsize(form)))[0]
        if kind == STRING:
            return self._exactly(self._size())
        if kind == STRUCT:
            return self._read_struct()
        if kind == MAP:
            key, value = self._exactly(2)
            entries = [(self._read(key), self._read(value)) for _ in range(self._size())]
            return key, value, {_hashable(name): value for name, value in entries}
        if kind in (LIST, SET):
            (item,) = self._exactly(1)
            return item, [self._read(item) for _ in range(self._size())]
        raise ProtocolError(f"its answer has a value of type {kind}")

    def _read_struct(self) -> Struct:
        found = {}
        while (kind := self._exactly(1)[0]) != STOP:
            (field,) = struct.unpack("!h", self._exactly(2))
            found[field] = Typed(kind, self._read(kind))
        return found


def _hashable(name: Any) -> Any:
    """A key of a map; lists as keys, which skewed tables have, are kept as tuples."""
    return (name[0], tuple(name[1])) if isinstance(name, tuple) else name


def _write(out: IO[bytes], kind: int, value: Any) -> None:
    if kind in _FIXED:
        out.write(struct.pack(_FIXED[kind], value))
    elif kind == STRING:
        out.write(struct.pack("!i", len(value)) + value)
    elif kind == STRUCT:
        for field, typed in value.items():
            out.write(struct.pack("!bh", typed.kind, field))
            _write(out, typed.kind, typed.value)
        out.write(bytes([STOP]))
    elif kind == MAP:
        key, item, entries = value
        out.write(struct.pack("!bbi", key, item, len(entries)))
        for name, entry in entries.items():
            _write(out, key, name)
            _write(out, item, entry)
    else:
        item, items = value
        out.write(struct.pack("!bi", item, len(items)))
        for each in items:
            _write(out, item, each)
