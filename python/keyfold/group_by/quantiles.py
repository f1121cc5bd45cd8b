"""The quantile states of groups, united by kernels while they hold their values themselves, which
are up to 2048; then each is a t-digest. States and results are the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from datasketches import tdigest_double

from keyfold.aggregates import quantile_union as states
from keyfold.group_by import set_bytes
from keyfold.group_by.set_inputs import check
from keyfold.kernels.buffers import text, validity
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.states.quantiles import (
    COUNTED_BYTES,
    DIGEST,
    MOST_EXACT,
    place_values,
    plans_of,
    put_quantiles,
    read_quantiles,
)

_LEAST_WAITING = 1 << 18
_DIGEST_BYTES = 1 << 16


@dataclass(frozen=True)
class QuantileCall:
    """A call of `quantile_union`, of a column of states."""

    name: str
    arrow_type = pa.binary()


class QuantileGroups:
    """See `accumulate.Accumulated`, which folds all other functions."""

    keeps_rows = False

    def __init__(self, call: QuantileCall) -> None:
        self.call = call
        self.clear()

    def clear(self) -> None:
        """Forget all groups."""
        self._compressions = np.full(0, states.LEAST_COMPRESSION, dtype=np.int64)
        self._ends, self._values = np.empty(0, np.int64), np.empty(0, np.float64)
        self._waiting: list[tuple[Numbers, Any]] = []
        self._count = 0
        self._digests: dict[int, Any] = {}

    @property
    def held(self) -> int:
        """The bytes that all take at most, while they grow."""
        exact = 2 * self._values.nbytes + 28 * self._count + 3 * self._compressions.nbytes
        return exact + _DIGEST_BYTES * len(self._digests)

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add a state to each of these groups. Raises GroupError if bytes are no state."""
        (bounds, data), valid = text(column), validity(column)
        plans = plans_of(data, bounds, valid)
        check(self.call.name, "not a quantile state", groups, column, plans < DIGEST)
        self._reach(int(groups.max(initial=-1)) + 1)
        rows = np.flatnonzero(valid)
        heads = bounds[:-1][rows]
        given = data[heads + 1].astype(np.int64) | data[heads + 2].astype(np.int64) << 8
        given[given > states.MOST_COMPRESSION] = 0
        np.maximum.at(self._compressions, groups[rows], given)
        count = int(plans[plans > 0].sum())
        owners, values = np.empty(count, np.int32), np.empty(count, np.float64)
        count = read_quantiles(data, bounds, groups, plans, owners, values)
        self._waiting.append((owners[:count], values[:count]))
        self._count += count
        for row in np.flatnonzero(plans == DIGEST).tolist():
            found = states.opened(column[row].as_py()).digest
            self._digest(int(groups[row])).merge(found)
        if self._count >= max(_LEAST_WAITING, len(self._values)):
            self._settle()

    def merge(self, groups: Numbers, column: pa.Array) -> None:
        """Add states of other tasks to these groups."""
        self.add(groups, column)

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """The states of these groups; of one without rows that of no value."""
        yield self.values(start, stop)

    def values(self, start: int, stop: int) -> pa.Array:
        """See `states`."""
        self._settle()
        self._reach(stop)
        ends = self._ends[start:stop]
        first = int(self._ends[start - 1]) if start else 0
        sizes = np.diff(ends, prepend=first) * 8 + COUNTED_BYTES
        out = np.empty(int(sizes.sum()), dtype=np.uint8)
        put_quantiles(self._values, ends, self._compressions[start:stop], first, out)
        found = set_bytes.column(np.cumsum(sizes), out).cast(pa.binary())
        digests = [group for group in self._digests if start <= group < stop]
        if not digests:
            return found
        items = found.to_pylist()
        for group in digests:
            compression = int(self._compressions[group]).to_bytes(2, "little")
            body = bytes(self._digests[group].serialize())
            items[group - start] = bytes((states.VERSION, *compression, states.DIGEST)) + body
        return pa.array(items, pa.binary())

    def _digest(self, group: int) -> Any:
        if group not in self._digests:
            self._digests[group] = tdigest_double(int(self._compressions[group]))
        return self._digests[group]

    def _reach(self, count: int) -> None:
        missing = count - len(self._compressions)
        if missing > 0:
            room = np.full(missing, states.LEAST_COMPRESSION)
            self._compressions = np.concatenate((self._compressions, room))
            last = self._ends[-1] if len(self._ends) else 0
            self._ends = np.concatenate((self._ends, np.full(missing, last)))

    def _settle(self) -> None:
        """Put what waits in the order of groups; those of too many values become digests."""
        if self._count:
            counts = np.diff(self._ends, prepend=0)
            owners = [np.repeat(np.arange(len(counts), dtype=np.int32), counts)]
            owners += [own for own, _ in self._waiting]
            values = [self._values, *(own for _, own in self._waiting)]
            every, own = np.concatenate(values), np.concatenate(owners)
            self._waiting, self._count = [], 0
            self._ends = np.cumsum(np.bincount(own, minlength=len(self._compressions)))
            self._values = np.empty(len(every), dtype=np.float64)
            places = np.concatenate(([0], self._ends[:-1]))
            place_values(own, every, places, self._values)
        counts = np.diff(self._ends, prepend=0)
        large = set(np.flatnonzero(counts > MOST_EXACT).tolist())
        moved = [group for group in large | self._digests.keys() if counts[group]]
        if moved:
            self._move(moved, counts)

    def _move(self, groups: list[int], counts: Any) -> None:
        """Put all values of these groups into their digests."""
        for group in groups:
            stop = int(self._ends[group])
            self._digest(group).update(self._values[stop - int(counts[group]) : stop].copy())
        stay = np.ones(len(counts), dtype=bool)
        stay[groups] = False
        self._values = self._values[np.repeat(stay, counts)]
        self._ends = np.cumsum(np.where(stay, counts, 0))
