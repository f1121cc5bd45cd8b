"""The key range a split is cut to, where one bucket is read by several Spark partitions.

Every run of a section is cut alike, so each key is merged whole in exactly one split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.journey import Split
from keyfold.kernels.keys import encode, rows_up_to
from keyfold.layout import TableLayout
from keyfold.read.literals import comparable, manifest_value
from keyfold.read.predicates import Ranges


@dataclass(frozen=True)
class _End:
    """An end of a range: a key, or the values of its leading columns `names`."""

    names: tuple[str, ...]
    nullable: tuple[bool, ...]
    bound: int | bytes
    lead: Any

    def reach(self, batch: pa.RecordBatch) -> int:
        """How many leading rows of a sorted batch are not above this end."""
        return rows_up_to([batch.column(name) for name in self.names], self.bound, self.nullable)


@dataclass(frozen=True)
class KeyRange:
    """Keys above `after` (that key itself not included) up to `until` (included); None is open."""

    after: _End | None
    until: _End | None

    @staticmethod
    def of(split: Split, layout: TableLayout) -> KeyRange | None:
        """The range of a split, None if it has no bounds."""
        if split.after is None and split.until is None:
            return None
        return KeyRange(_end(split.after, layout), _end(split.until, layout))

    def cut(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch, sorted by key, that lie inside."""
        start = 0 if self.after is None else self.after.reach(batch)
        stop = batch.num_rows if self.until is None else self.until.reach(batch)
        return batch.slice(start, max(stop - start, 0))

    def may_hold(self, ranges: Ranges, lead: str) -> bool:
        """False only if rows with these ranges, `lead` the first key column, all lie outside."""
        found = ranges.get(lead)
        if found is None or found.low is None or found.high is None:
            return True
        is_below = self.after is not None and _is_less(found.high, self.after.lead)
        is_above = self.until is not None and _is_less(self.until.lead, found.low)
        return not is_below and not (is_above and not found.may_hold_null)


def _is_less(left: Any, right: Any) -> bool:
    """Whether one value of the leading key column sorts before another; NULL is least."""
    if left is None or right is None:
        return left is None and right is not None
    return bool(left < right)


def _end(end: pa.RecordBatch | None, layout: TableLayout) -> _End | None:
    if end is None:
        return None
    lead = comparable(manifest_value(end.column(0)[0]), layout.column(layout.key[0]).type)
    nullable = layout.nullable_key[: end.num_columns]
    return _End(tuple(end.schema.names), nullable, encode(end.columns, nullable).scalar(0), lead)
