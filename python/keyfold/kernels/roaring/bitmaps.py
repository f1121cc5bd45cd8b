"""Roaring bitmaps from and to bytes. There are three forms: portable 32 bit, portable 64 bit, and
Java's `Roaring64Bitmap` (see `art`). The bytes decide which form it is, not their column.

A form is recognised if all of its bytes can be walked to the very end. That also decides if the
first bytes fit two forms. The walk also checks the content of containers. Sets are pyroaring's.
"""

import struct
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap, BitMap64

from keyfold.kernels.buffers import Mask, text, validity, view
from keyfold.kernels.jit import kernel
from keyfold.kernels.roaring import art, containers, contents
from keyfold.kernels.roaring.containers import Table, problem

PORTABLE32, PORTABLE64, JAVA = "portable 32-bit", "portable 64-bit", "Roaring64Bitmap"
_GREATEST_32 = (1 << 32) - 1
_VERBATIM, _UNDECIDED = -1, -2
_NOTHING: Table = np.empty((0, 4), dtype=np.int64)


class BitmapError(ValueError):
    """Bytes are not a bitmap, or not one that can take the wanted form. The message says what is
    wrong. `row` is the row of a column, -1 if there is no column.
    """

    def __init__(self, words: str, row: int = -1) -> None:
        super().__init__(f"Unable to deserialize roaring bitmap: {words}")
        self.words = words
        self.row = row


def form(state: bytes) -> str | None:
    """The form of the bytes, None if they have no form."""
    try:
        return _walked(state)[0]
    except BitmapError:
        return None


def read32(state: bytes) -> Any:
    """The BitMap of any form. Raises BitmapError if a value is above 2^32 - 1 or bytes are bad."""
    found, _ = _walked(state)
    return _checked(BitMap, state) if found == PORTABLE32 else _fitting(read64(state))


def read64(state: bytes) -> Any:
    """The BitMap64 of any form. Raises BitmapError if the bytes are bad."""
    found, table = _walked(state)
    if found == JAVA:
        out = np.empty(len(state) + 32 * len(table) + 16, dtype=np.uint8)
        size = containers.put_maps(_bytes(state), table, out)
        return _checked(BitMap64, out[:size])
    if found == PORTABLE32:
        return _checked(BitMap64, struct.pack("<QI", 1, 0) + state)
    return _checked(BitMap64, state)


def union(sets: list[Any]) -> Any:
    """The union of sets of one kind, neighbours first. pyroaring's own union of many sets is up to
    8 times as slow if containers are many and small, at best half as slow if they are full.
    """
    while len(sets) > 1:
        rest = sets[len(sets) & ~1 :]
        sets = [sets[i] | sets[i + 1] for i in range(0, len(sets) - 1, 2)] + rest
    return sets[0]


def write32(bitmap: BitMap) -> bytes:
    """Portable 32-bit bytes, with runs if these are shorter. Run-optimises the bitmap in place."""
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def write64(bitmap: BitMap64) -> bytes:
    """The bytes that Java's `Roaring64Bitmap` writes after `runOptimize` if its containers were
    added in ascending order. The bitmap is run-optimised in place.
    """
    bitmap.run_optimize()
    return _java(bytes(bitmap.serialize()), bitmap.get_statistics()["n_containers"])


def to_portable32(column: pa.Array) -> pa.Array:
    """A column of bitmaps of any form in the portable 32-bit form. Raises BitmapError, which names
    the row, if a value is above 2^32 - 1 or bytes are bad.
    """
    offsets, data = text(column)
    plans = np.empty(len(column), dtype=np.int64)
    _plan32(data, offsets, validity(column), plans, _NOTHING)
    return _replaced(column, np.flatnonzero(plans == _UNDECIDED), _narrow)


def to_java(column: pa.Array) -> pa.Array:
    """A column of bitmaps of any form in that of Java's `Roaring64Bitmap`. Raises BitmapError,
    which names the row, if bytes are bad.
    """
    offsets, data = text(column)
    plans = np.empty(len(column), dtype=np.int64)
    keys = int(np.diff(offsets).max(initial=0)) // art.LEAF_BYTES
    table, slots = (np.empty((keys, 4), dtype=np.int64) for _ in range(2))
    found = np.empty(1, dtype=np.int64)
    _plan64(data, offsets, validity(column), plans, table, slots, found)
    if (plans >= 0).any():
        column = _rewritten(column, offsets, data, plans)
    return _replaced(column, np.flatnonzero(plans == _UNDECIDED), _wide)


def _bytes(state: bytes) -> Mask:
    return view(pa.py_buffer(state), np.uint8, 0, len(state))


def _checked(kind: Any, state: Any) -> Any:
    try:
        return kind.deserialize(state)
    except (ValueError, IndexError) as error:
        raise BitmapError(str(error)) from None


def _walked(state: bytes) -> tuple[str, Table]:
    """The form, and its containers if it is Java's. Raises BitmapError if there is no form."""
    if _looks_java(state) and not _looks64(state):
        return JAVA, _walk_java(state)
    nearest: BitmapError | None = None
    for name, looks, walk in _FORMS:
        if looks(state):
            try:
                return name, walk(state)
            except BitmapError as error:
                nearest = nearest or error
    raise nearest or BitmapError(
        f"{len(state)} bytes that begin with '{state[:8].hex(' ')}' are no bitmap, neither "
        f"{PORTABLE32}, {PORTABLE64} nor {JAVA}"
    )


def _looks32(state: bytes) -> bool:
    return len(state) >= 8 and state[:2] in (b"\x3a\x30", b"\x3b\x30")


def _looks64(state: bytes) -> bool:
    return len(state) >= 8 and int.from_bytes(state[:8], "little") <= len(state) // 12


def _looks_java(state: bytes) -> bool:
    return state == b"\0" or (len(state) > art.HEAD_BYTES and state[0] == 1)


def _walk32(state: bytes) -> Table:
    _end(state, PORTABLE32, containers.parse_map(_bytes(state), 0, len(state), 0, _NOTHING, 0))
    return _NOTHING


def _walk64(state: bytes) -> Table:
    found = np.zeros(1, dtype=np.int64)
    _end(state, PORTABLE64, containers.parse_maps(_bytes(state), _NOTHING, found))
    return _NOTHING


def _walk_java(state: bytes) -> Table:
    if state == b"\0":
        return _NOTHING
    data, size = _bytes(state), len(state)
    keys = int.from_bytes(state[1 : art.HEAD_BYTES], "little")
    if not 0 < keys <= size // art.LEAF_BYTES:
        raise BitmapError(f"as {JAVA}, it announces {keys} keys in {size} bytes")
    table = np.empty((keys, 4), dtype=np.int64)
    at = art.parse_tree(data, table)
    if at >= 0:
        at = art.parse_containers(data, at, table, np.empty((keys, 4), dtype=np.int64))
    _end(state, JAVA, at)
    return table


_FORMS = (
    (JAVA, _looks_java, _walk_java),
    (PORTABLE32, _looks32, _walk32),
    (PORTABLE64, _looks64, _walk64),
)


def _end(state: bytes, name: str, at: int) -> None:
    if at < 0:
        raise BitmapError(f"as {name} of {len(state)} bytes, {problem(at)}")
    if at != len(state):
        raise BitmapError(f"as {name}, it ends at byte {at} of {len(state)}")


def _java(portable: bytes, count: int) -> bytes:
    """The bytes of Java's form, from portable 64-bit bytes; `count` is that of the containers."""
    table = np.empty((count, 4), dtype=np.int64)
    data, found = _bytes(portable), np.zeros(1, dtype=np.int64)
    containers.parse_maps(data, table, found)
    out = np.empty(art.art_bound(count, len(portable)), dtype=np.uint8)
    stack = np.empty((art.STACK_ROWS + 1, 3), dtype=np.int64)
    return out[: art.put_art(data, table, out, stack)].tobytes()


def _fitting(wide: BitMap64) -> BitMap:
    if not wide:
        return BitMap()
    if wide.max() > _GREATEST_32:
        raise BitmapError(
            f"it holds {wide.max()}, expected values up to {_GREATEST_32}; rbm64 takes more"
        )
    return BitMap.deserialize(wide.serialize()[12:])


def _narrow(state: bytes) -> bytes:
    return state if _walked(state)[0] == PORTABLE32 else write32(_fitting(read64(state)))


def _wide(state: bytes) -> bytes:
    return state if _walked(state)[0] == JAVA else write64(read64(state))


def _replaced(column: pa.Array, rows: Any, convert: Any) -> pa.Array:
    if not len(rows):
        return column
    states = column.to_pylist()
    for row in rows.tolist():
        try:
            states[row] = convert(states[row])
        except BitmapError as error:
            raise BitmapError(error.words, row) from None
    return pa.array(states, column.type)


@kernel("boolean(uint8[::1])")
def _may_be_maps(data: Mask) -> bool:
    size = len(data)
    return size >= 8 and 0 <= containers.number(data, 0, 8) <= size // 12


@kernel("boolean(uint8[::1])")
def _has_cookie(data: Mask) -> bool:
    return len(data) >= 8 and data[1] == 0x30 and (data[0] == 0x3A or data[0] == 0x3B)


@kernel("void(uint8[::1], int64[::1], uint8[::1], int64[::1], int64[:, ::1])")
def _plan32(data: Mask, offsets: Table, valid: Mask, plans: Table, nothing: Table) -> None:
    """Write for each row whether it stays or has to be looked at more closely."""
    for row in range(len(plans)):
        part = data[offsets[row] : offsets[row + 1]]
        is_plain = not valid[row]
        if not is_plain and _has_cookie(part) and not _may_be_maps(part):
            is_plain = containers.parse_map(part, 0, len(part), 0, nothing, 0) == len(part)
        plans[row] = _VERBATIM if is_plain else _UNDECIDED


@kernel(
    "void(uint8[::1], int64[::1], uint8[::1], int64[::1], int64[:, ::1], int64[:, ::1], int64[::1])"
)
def _plan64(
    data: Mask, offsets: Table, valid: Mask, plans: Table, table: Table, slots: Table, found: Table
) -> None:
    """Write for each row the number of containers of a portable 32-bit bitmap, or that the row
    stays, or that it has to be looked at more closely. There is room for the containers of a row.
    """
    for row in range(len(plans)):
        part = data[offsets[row] : offsets[row + 1]]
        plans[row] = _VERBATIM
        if valid[row]:
            plans[row] = _UNDECIDED
            if _may_be_maps(part):
                continue
            if _has_cookie(part):
                if containers.parse_map(part, 0, len(part), 0, table[:0], 0) == len(part):
                    plans[row] = containers.map_containers(part, 0, len(part))
            elif contents.is_java(part, table, slots, found):
                plans[row] = _VERBATIM


@kernel(
    "void(uint8[::1], int64[::1], int64[::1], int64[::1], int64[:, ::1], int64[:, ::1], uint8[::1])"
)
def _write_rows(
    data: Mask, offsets: Table, plans: Table, ends: Table, table: Table, stack: Table, out: Mask
) -> None:
    """Write every row, those with a plan as Java's bytes; ends[i + 1] is the end of row i."""
    at = 0
    ends[0] = 0
    for row in range(len(plans)):
        part = data[offsets[row] : offsets[row + 1]]
        if plans[row] >= 0:
            containers.parse_map(part, 0, len(part), 0, table, 0)
            at += art.put_art(part, table[: plans[row]], out[at:], stack)
        else:
            at = containers.copy(part, 0, len(part), out, at)
        ends[row + 1] = at


def _rewritten(column: pa.Array, offsets: Table, data: Mask, plans: Table) -> pa.Array:
    table = np.empty((int(plans.max()), 4), dtype=np.int64)
    stack = np.empty((art.STACK_ROWS + 1, 3), dtype=np.int64)
    planned = plans[plans >= 0]
    payload = int(offsets[-1] - offsets[0])
    out = np.empty(payload + int((64 + 60 * planned).sum()), dtype=np.uint8)
    ends = np.empty(len(column) + 1, dtype=np.int64)
    _write_rows(data, offsets, plans, ends, table, stack, out)
    buffers = [_validity(column), pa.py_buffer(ends), pa.py_buffer(out[: ends[-1]])]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers).cast(column.type)


def _validity(column: pa.Array) -> pa.Buffer | None:
    return column.is_valid().buffers()[1] if column.null_count else None
