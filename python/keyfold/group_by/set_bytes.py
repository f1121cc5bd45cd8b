"""The bytes of bitmaps and of DataSketches' HLL sketches, of the sets of groups."""

import struct
from typing import Any

import numpy as np
import pyarrow as pa
from datasketches import HLL_4, hll_sketch, hll_union
from pyroaring import BitMap64

from keyfold.group_by.set_inputs import WIDE
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.item_sets import (
    ESTIMATE_BYTES,
    REGISTERS,
    SKETCH_BYTES,
    Dense,
    Owned,
    Room,
    containers_of,
    put_bitmaps,
)
from keyfold.kernels.roaring import bitmaps as roaring
from keyfold.kernels.roaring.containers import BITMAP_BYTES, put_maps

_LG_K = 12
_LIST, _SET, _REGISTERS = 0, 1, 10  # forms of sketches: the last is HLL_8, which a union opens
_COMPACT, _EMPTY, _UNITED = 8, 4, 16
_IN_LIST, _LEAST_SET = 8, 5
_NARROW = 1 << 16
_PER_CONTAINER = 16


def column(ends: Rows, data: Any) -> pa.Array:
    """Values that end there."""
    bounds = np.concatenate(([0], ends))
    kind = pa.binary() if bounds[-1] < 1 << 31 else pa.large_binary()
    offsets = bounds.astype(np.int32) if kind == pa.binary() else bounds
    return pa.Array.from_buffers(kind, len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _payloads(owned: Owned, dense: Dense, bounds: Rows) -> Rows:
    """The bytes that the payloads of each group take at most."""
    own = owned.owners[bounds[0] : bounds[-1]]
    counts = owned.ends[own] - np.where(own > 0, owned.ends[own - 1], 0)
    each = np.where(dense.places[own] > 0, BITMAP_BYTES, 2 * counts + 2)
    most: Rows = np.diff(np.concatenate(([0], np.cumsum(each)))[bounds - bounds[0]])
    return most


def bitmaps(owned: Owned, dense: Dense, bounds: Rows) -> pa.Array:
    """The bitmaps of groups: in the portable form of 32 bits if all numbers fit these, else the
    bytes of Java's Roaring64Bitmap.
    """
    first = bounds[:-1]
    last = np.maximum(bounds[1:] - 1, 0)
    is_wide = np.zeros(len(first), dtype=bool)
    if len(owned.owners):
        is_wide = (owned.highs[owned.owners[last]] >= _NARROW) & (bounds[1:] > first)
    most, containers = _payloads(owned, dense, bounds), np.diff(bounds)
    table = np.empty((int(containers.max(initial=0)), 4), dtype=np.int64)
    payloads = np.empty(int(most.max(initial=0)), dtype=np.uint8)
    room = Room(payloads, np.empty(1 << 16, dtype=np.uint64), table)
    out = np.empty(int((most + _PER_CONTAINER * (containers + 1)).sum()), dtype=np.uint8)
    ends = np.empty(len(first), dtype=np.int64)
    put_bitmaps(owned, dense, bounds, room, out, ends)
    found = column(ends, out)
    if not is_wide.any():
        return found
    items = found.to_pylist()
    for group in np.flatnonzero(is_wide).tolist():
        start, stop = int(bounds[group]), int(bounds[group + 1])
        stop -= int(owned.highs[owned.owners[stop - 1]] == WIDE)
        rows = table[: stop - start]
        size = containers_of(owned, dense, start, stop, room)
        maps = np.empty(size + 32 * (stop - start) + 16, dtype=np.uint8)
        wide = BitMap64.deserialize(maps[: put_maps(payloads, rows, maps)].tobytes())
        items[group] = roaring.write64(wide)
    return pa.array(items, pa.binary())


def _opened(dense: Dense, owner: int) -> Any:
    """A dense sketch. It has no estimate of its own if it was united: what it has seen first is not
    known.
    """
    start = (int(dense.places[owner]) - 1) * SKETCH_BYTES
    found = dense.data[start : start + SKETCH_BYTES]
    fewer = int(found[REGISTERS + ESTIMATE_BYTES])
    registers = found[:REGISTERS].reshape(1 << fewer, -1).max(axis=0).astype(np.int32)
    own = float(found[REGISTERS : REGISTERS + ESTIMATE_BYTES].view(np.float64)[0])
    powers = np.ldexp(1.0, -registers)
    is_low = registers < 32
    sums = float(powers[is_low].sum()), float(powers[~is_low].sum())
    head = bytes((10, 1, 7, _LG_K - fewer, 0, 0 if own else _UNITED, 0, _REGISTERS))
    zeros = int((registers == 0).sum())
    body = struct.pack("<dddII", own, *sums, zeros, 0)
    return hll_sketch.deserialize(head + body + registers.astype(np.uint8).tobytes())


def estimate(dense: Dense, owner: int) -> int:
    """About how many values a dense sketch has seen. One that is not has seen as many as it has."""
    return int(np.floor(_opened(dense, owner).get_estimate() + 0.5))


def sketches(owned: Owned, dense: Dense, bounds: Rows) -> pa.Array:
    """The compact sketches of groups."""
    found = []
    items = owned.words.astype(np.uint32)
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        owner = int(owned.owners[start]) if start < stop else -1
        if owner >= 0 and dense.places[owner]:
            union = hll_union(_LG_K)
            union.update(_opened(dense, owner))
            found.append(bytes(union.get_result(HLL_4).serialize_compact()))
        else:
            first = int(owned.ends[owner - 1]) if owner > 0 else 0
            found.append(_small(items[first : int(owned.ends[owner])] if owner >= 0 else items[:0]))
    return pa.array(found, pa.binary())


def _small(coupons: Any) -> bytes:
    """A sketch that has its coupons themselves."""
    count = len(coupons)
    if count < _IN_LIST:
        flags = _COMPACT if count else _COMPACT | _EMPTY
        return bytes((2, 1, 7, _LG_K, 3, flags, count, _LIST)) + bytes(coupons.tobytes())
    room = _LEAST_SET
    while 4 * count > 3 << room:
        room += 1
    head = bytes((3, 1, 7, _LG_K, room, _COMPACT, 0, _SET)) + count.to_bytes(4, "little")
    return head + bytes(coupons.tobytes())
