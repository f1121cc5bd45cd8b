"""Footers of Parquet files: the facts of each column chunk that Arrow compares with the schema.

It does so in places that can't raise, so a wrong one would end the process. A footer is a struct of
Thrift's compact protocol; its field 4 is a list of row groups, whose field 1 is a list of chunks,
whose field 3 is the metadata.
"""

from typing import Any

import numpy as np

from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.jit import kernel
from keyfold.kernels.pages import ABSENT, after, number, signed

# Places in a row of `chunk_facts`: numbers of the physical type and the codec, the size of both
# histograms of levels, and the bytes of texts.
TYPE, CODEC, REPETITIONS, DEFINITIONS, TEXTS = range(5)
_FACTS, _DEPTH = 5, 16
_LIST, _SET, _STRUCT = 9, 10, 12
_ELEMENT, _LEFT, _FIELD = 0, 1, 2  # places in the stack; the element of a struct is 0
_CHUNK, _SIZES = 5, 6  # depths of the metadata of a chunk, and of its statistics of sizes


@kernel
def _note(stack: Rows, depth: int, value: int, row: Rows) -> None:
    """Write the value of a field, or the size of a list, if it is a fact of a chunk."""
    field = stack[depth, _FIELD]
    if depth == _CHUNK and (field == 1 or field == 4):
        row[TYPE if field == 1 else CODEC] = value
    elif depth == _SIZES and stack[_CHUNK, _FIELD] == 16 and 1 <= field <= 3:
        row[TEXTS if field == 1 else REPETITIONS if field == 2 else DEFINITIONS] = value


@kernel
def _is_chunk(stack: Rows, depth: int) -> bool:
    """Whether this is within the metadata of a chunk."""
    is_here = stack[0, _FIELD] == 4 and stack[2, _FIELD] == 1 and stack[4, _FIELD] == 3
    return bool(depth >= _CHUNK and is_here)


@kernel
def _next(data: Mask, at: int, stack: Rows, depth: int) -> tuple[Any, Any]:
    """The kind of what follows, 0 of an end, and the place after its head."""
    if stack[depth, _ELEMENT]:
        if stack[depth, _LEFT] == 0:
            return 0, at
        stack[depth, _LEFT] -= 1
        return stack[depth, _ELEMENT], at
    head = np.int64(data[at])
    at += 1
    if head and head >> 4 == 0:
        value, at = number(data, at)
        stack[depth, _FIELD] = signed(value)
    stack[depth, _FIELD] += head >> 4
    return head & 15, at


@kernel
def _opened(data: Mask, at: int, kind: int, stack: Rows, depth: int) -> tuple[Any, Any]:
    """Put a struct or list on the stack; its size, and the place after its head."""
    size: Any = 0
    stack[depth, _ELEMENT] = stack[depth, _LEFT] = stack[depth, _FIELD] = 0
    if kind != _STRUCT:
        head = np.int64(data[at])
        size, at = head >> 4, at + 1
        if size == 15:
            size, at = number(data, at)
        stack[depth, _ELEMENT], stack[depth, _LEFT] = head & 15, size
    return size, at


@kernel
def _began(stack: Rows, depth: int, kind: int, count: int, found: Rows) -> int:
    """How many chunks there are with one that begins here, if one does and there is room."""
    if kind == _STRUCT and depth == _CHUNK and _is_chunk(stack, depth) and count < len(found):
        for fact in range(_FACTS):
            found[count, fact] = ABSENT
        return count + 1
    return count


@kernel("int64(uint8[::1], int64[:, ::1], int64[:, ::1])")
def chunk_facts(data: Mask, stack: Rows, found: Rows) -> int:
    """Write a row for each column chunk; returns how many, -1 if bytes are not a footer."""
    at, depth, count, value = 0, 0, 0, 0
    stack[0, _ELEMENT] = stack[0, _FIELD] = 0
    while 0 <= at < len(data):
        kind, at = _next(data, at, stack, depth)
        if kind == 0 and at >= 0:
            if depth == 0:
                return count
            depth -= 1
            continue
        is_nested = kind in (_LIST, _SET, _STRUCT)
        if not 0 <= at < len(data) or depth + 1 == len(stack):
            return -1
        if is_nested:
            value, at = _opened(data, at, kind, stack, depth + 1)
        elif 4 <= kind <= 6:
            value, at = number(data, at)
            value = signed(value)
        else:
            at = after(data, at, kind)
        if count and _is_chunk(stack, depth):
            _note(stack, depth, value, found[count - 1])
        depth += is_nested
        count = _began(stack, depth, kind, count, found)
    return -1


def facts_of(footer: Mask, chunks: int) -> Rows | None:
    """The facts of `chunks` column chunks, in the order of row groups and columns; None if the
    bytes can't be followed.
    """
    found = np.empty((max(chunks, 1), _FACTS), dtype=np.int64)
    count = chunk_facts(footer, np.zeros((_DEPTH, 3), dtype=np.int64), found)
    return found[:chunks] if count == chunks else None
