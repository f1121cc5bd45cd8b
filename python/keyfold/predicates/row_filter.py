"""Keeps the rows that the filters of a scan let through, batch by batch, as they are read.

Predicates over partition and key columns hold for all records of a key or for no record of it, so
they apply to the rows of each run. Others apply to merged rows. A row passes a predicate that
`condition` can't decide.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.predicates.condition import is_decided, satisfies
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import UNPARTITIONED, Partition
from keyfold.wire.predicates import Predicate, conjuncts


@dataclass(frozen=True)
class RowFilter:
    """Predicates that are decided on batches that hold `columns`. `constants` are the values of
    partition columns, which batches need not hold.
    """

    layout: TableLayout
    predicates: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)

    @staticmethod
    def of(
        layout: TableLayout,
        predicates: Sequence[Predicate],
        names: Collection[str],
        partition: Partition = UNPARTITIONED,
    ) -> RowFilter:
        """The decided ones of those predicates that are over the columns `names` or those of the
        partition.
        """
        fixed = partition.scalars(layout)
        known = {*names, *fixed}
        chosen = tuple(p for p in conjuncts(predicates) if is_decided(layout, p, known))
        needed = {name for predicate in chosen for name in predicate.columns}
        return RowFilter(
            layout,
            chosen,
            tuple(column.name for column in layout.columns if column.name in needed - fixed.keys()),
            {name: value for name, value in fixed.items() if name in needed},
        )

    def flags(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Whether every predicate is true, for each row."""
        passes = satisfies(self.layout, self.predicates, self._view(batch))
        found: npt.NDArray[np.bool_] = passes.to_numpy(zero_copy_only=False)
        return found

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows for which every predicate is true."""
        if not self.predicates or not batch.num_rows:
            return batch
        passes = satisfies(self.layout, self.predicates, self._view(batch))
        count = passes.true_count
        if count == batch.num_rows:
            return batch
        return batch.filter(passes) if count else batch.slice(0, 0)

    def _view(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [batch.column(name) for name in self.columns]
        arrays += [pa.repeat(value, batch.num_rows) for value in self.constants.values()]
        return pa.RecordBatch.from_arrays(arrays, names=[*self.columns, *self.constants])
