"""Rows of a scan folded to groups, in bounded memory.

Each batch is folded by itself, and its groups wait until enough of them have come to be folded
together. Spark puts the groups of all tasks together, so a group may be sent several times: if
there are too many of them, all are sent, and the next rows begin anew. Rows of which hardly two
are of one group are sent as they come. So are rows whose sum does not fit 64 bits, or 38 digits:
Spark's own addition then decides what becomes of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.by_code import RowCodes
from keyfold.kernels.groups.codes import codes
from keyfold.read.folds import by_acero
from keyfold.read.folds.scan_aggregates import ScanAggregate, folded, lifted, nothing
from keyfold.resources import budget

LEAST_ROWS = 1 << 16  # groups wait until there are so many, or twice as many as are left of them
MOST_ROWS = 1 << 20
PART_OF_MEMORY = 8
FEW_ROWS = 1 << 12  # a smaller batch says little about how many rows are of one group
MOST_SHARE = 0.75
PASSED = 8  # batches that are not folded after one of which too many groups were left


class ScanGroups:
    """The groups of rows by the columns `by`, folded by some functions."""

    def __init__(self, by: Sequence[str], chosen: Sequence[ScanAggregate]) -> None:
        self._by = tuple(by)
        self._functions = tuple(chosen)
        self.names = [*by, *(f"{f.op} {place}" for place, f in enumerate(chosen))]
        self._held: list[pa.RecordBatch] = []
        self._left = self._passed = 0
        self._most_bytes = budget.bytes() // PART_OF_MEMORY

    def rows(
        self, batch: pa.RecordBatch, chosen: Collection[ScanAggregate]
    ) -> Iterator[pa.RecordBatch]:
        """Add rows to the chosen functions; returns states that must be sent now."""
        return self.states(self.lifted(batch, chosen))

    def lifted(self, batch: pa.RecordBatch, chosen: Collection[ScanAggregate]) -> pa.RecordBatch:
        """Each row as a group of its own, for the chosen functions."""
        arrays = [batch.column(name) for name in self._by]
        for function in self._functions:
            if function in chosen:
                arrays.append(lifted(function, batch))
            else:
                arrays.append(pa.repeat(nothing(function)[0], batch.num_rows))
        return pa.RecordBatch.from_arrays(arrays, names=self.names)

    def states(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add groups, which may repeat; returns states that must be sent now."""
        if not batch.num_rows:
            return
        self._passed -= 1
        found = self._folded(batch) if self._passed < 0 else None
        if found is None:
            yield batch
            return
        if batch.num_rows >= FEW_ROWS and found.num_rows > MOST_SHARE * batch.num_rows:
            self._passed = PASSED
            yield found
            return
        self._held.append(found)
        if sum(held.num_rows for held in self._held) > max(LEAST_ROWS, 2 * self._left):
            yield from self._together()

    def last(self) -> Iterator[pa.RecordBatch]:
        """The states of all groups that are left."""
        if self._held:
            yield from self._together()
        yield from self._held
        self._held = []

    def _together(self) -> Iterator[pa.RecordBatch]:
        """Fold what waits; if too much is left, or it can't be folded, it is sent."""
        held, self._held, self._left = self._held, [], 0
        whole = held[0] if len(held) == 1 else pa.concat_batches(held)
        found = self._folded(whole)
        if found is None:
            yield whole
        elif found.num_rows > MOST_ROWS or found.nbytes > self._most_bytes:
            yield found
        else:
            self._held, self._left = [found], found.num_rows

    def _folded(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """One row per group; None if a sum does not fit its state."""
        found = by_acero.folded(self._functions, batch) if self._by else None
        if found is not None:
            return found
        rows = self._coded(batch)
        if len(rows.there) == batch.num_rows:
            return batch
        first = indices(rows.first)
        arrays = [take(column, first) for column in self._columns(batch)]
        for place, function in enumerate(self._functions, len(self._by)):
            found = folded(function, batch.column(place), rows)
            if found is None:
                return None
            arrays.append(found)
        return pa.RecordBatch.from_arrays(arrays, names=self.names)

    def _coded(self, batch: pa.RecordBatch) -> RowCodes:
        if not self._by:
            return RowCodes(np.zeros(batch.num_rows, dtype=np.int32), 1)
        found, count = codes(self._columns(batch))
        return RowCodes(found.astype(np.int32), count)

    def _columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The columns of the group. They are the first; a function's may have the same name."""
        return [batch.column(place) for place in range(len(self._by))]
