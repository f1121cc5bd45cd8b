"""Unions of opaque states, as an aggregation table folds them, and the same library called in a
plain loop that opens and closes one pair after the other: `python -m integration.bench.states`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from datasketches import (
    HLL_4,
    compact_theta_sketch,
    hll_sketch,
    hll_union,
    theta_union,
    update_theta_sketch,
)
from pyroaring import BitMap, BitMap64

from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Inputs
from keyfold.aggregates.results import column_result
from keyfold.kernels.roaring import bitmaps

A_KEY, ROUNDS = 4, 5
Pair = Callable[[bytes, bytes], bytes]


@dataclass(frozen=True)
class Rate:
    """States per second and core: ours, and the plain loop's; and how long a state is."""

    name: str
    bytes: float
    ours: float
    plain: float


def _hll(numbers: list[int]) -> bytes:
    sketch = hll_sketch(12, HLL_4)
    for number in numbers:
        sketch.update(number)
    return bytes(sketch.serialize_compact())


def _theta(numbers: list[int]) -> bytes:
    sketch = update_theta_sketch(12)
    for number in numbers:
        sketch.update(number)
    return bytes(sketch.compact().serialize())


def _hll_pair(a: bytes, b: bytes) -> bytes:
    union = hll_union(12)
    union.update(hll_sketch.deserialize(a))
    union.update(hll_sketch.deserialize(b))
    return bytes(union.get_result(HLL_4).serialize_compact())


def _theta_pair(a: bytes, b: bytes) -> bytes:
    union = theta_union(12)
    union.update(compact_theta_sketch.deserialize(a))
    union.update(compact_theta_sketch.deserialize(b))
    return bytes(union.get_result().serialize())


def _pair32(a: bytes, b: bytes) -> bytes:
    return bytes((BitMap.deserialize(a) | BitMap.deserialize(b)).serialize())


def _pair64(a: bytes, b: bytes) -> bytes:
    return bytes((BitMap64.deserialize(a) | BitMap64.deserialize(b)).serialize())


Numbers = Callable[[int], Any]
_RANDOM = np.random.default_rng(5)
SIZES: dict[str, tuple[int, Numbers]] = {
    "10 numbers": (2000, lambda n: (_RANDOM.integers(0, 1 << 20, 10)).tolist()),
    "10 k of 1 M": (100, lambda n: (_RANDOM.integers(0, 1 << 20, 10_000)).tolist()),
    "2 k of 2^32": (100, lambda n: (_RANDOM.integers(0, 1 << 32, 2_000)).tolist()),
    "a range of 1 M": (100, lambda n: range(n * 1000, n * 1000 + 1_000_000)),
}
KINDS: dict[str, tuple[Callable[[list[int]], bytes], Callable[[list[int]], bytes], Pair]] = {
    "rbm32": (
        lambda numbers: bitmaps.write32(BitMap(numbers)),
        lambda numbers: bitmaps.write32(BitMap(numbers)),
        _pair32,
    ),
    "rbm64": (
        lambda numbers: bitmaps.write64(BitMap64(numbers)),
        lambda numbers: bytes(BitMap64(numbers).serialize()),
        _pair64,
    ),
    "hll_sketch": (_hll, _hll, _hll_pair),
    "theta_sketch": (_theta, _theta, _theta_pair),
}


def rates() -> Iterator[Rate]:
    """Each kind and size; four states per key. A plain rbm64 has portable bytes: Java's are none
    that the library reads.
    """
    for name, (make, make_plain, pair) in KINDS.items():
        for size, (states, numbers) in SIZES.items():
            if size.startswith("a range") and not name.startswith("rbm"):
                continue
            sets = [numbers(n) for n in range(states)]
            ours, plain = [make(found) for found in sets], [make_plain(found) for found in sets]
            column = pa.array(ours, pa.binary())
            yield Rate(
                f"{name}, {size}",
                sum(map(len, ours)) / states,
                states / _best(lambda column=column, name=name: _fold(name, column)),
                states / _best(lambda plain=plain, pair=pair: _loop(plain, pair)),
            )


def _fold(name: str, column: pa.Array) -> pa.Array:
    starts = np.arange(0, len(column) + 1, A_KEY)
    ops = np.ones(len(column), np.int8)
    inputs = Inputs(column, ops, np.arange(len(column)), starts)
    return column_result(aggregates()[name], inputs).array


def _loop(states: list[bytes], pair: Pair) -> list[bytes]:
    made = []
    for start, stop in pairwise(range(0, len(states) + 1, A_KEY)):
        result = states[start]
        for state in states[start + 1 : stop]:
            result = pair(result, state)
        made.append(result)
    return made


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    for rate in rates():
        print(
            f"{rate.name:30} {rate.bytes / 1e3:8.1f} kB {rate.ours / 1e3:9.1f} k states/s, "
            f"{rate.ours / rate.plain:5.2f} x the plain loop"
        )
