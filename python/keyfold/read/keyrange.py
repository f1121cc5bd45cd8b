"""The key range a split is cut to if several Spark partitions read one bucket.

Every run of a section is cut alike, so each key is merged whole in exactly one split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.kernels.keys.comparable import encode, rows_up_to
from keyfold.predicates.ranges import Ranges
from keyfold.read.key_cuts import highest, lowest
from keyfold.types.literals import manifest_value
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Split


@dataclass(frozen=True)
class _End:
    """An end of a range: a key, or the values of its leading columns `names`."""

    names: tuple[str, ...]
    nullable: tuple[bool, ...]
    bound: int | bytes
    values: tuple[Any, ...]

    def reach(self, batch: pa.RecordBatch) -> int:
        """The number of leading rows of a sorted batch that are not above this end."""
        return rows_up_to([batch.column(name) for name in self.names], self.bound, self.nullable)


@dataclass(frozen=True)
class KeyRange:
    """Keys above `after` (itself left out), up to `until` (included); None is an open end."""

    after: _End | None
    until: _End | None

    @staticmethod
    def of(split: Split, layout: TableLayout) -> KeyRange | None:
        """The range of a split; None if it has no bounds."""
        if split.after is None and split.until is None:
            return None
        return KeyRange(_end(split.after, layout), _end(split.until, layout))

    def cut(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch, sorted by key, that are in the range."""
        start = 0 if self.after is None else self.after.reach(batch)
        stop = batch.num_rows if self.until is None else self.until.reach(batch)
        return batch.slice(start, max(stop - start, 0))

    def may_hold(self, ranges: Ranges, key: Sequence[str]) -> bool:
        """False only if sorted rows with these ranges of `key` columns are all outside."""
        if self.after is not None:
            last = highest(ranges, key)
            side = _compared(last, self.after.values)
            if side < 0 or (side == 0 and len(last) >= len(self.after.values)):
                return False
        return self.until is None or _compared(lowest(ranges, key), self.until.values) <= 0


def _compared(left: Sequence[Any], right: Sequence[Any]) -> int:
    """-1, 0 or 1 if one leading part of a key sorts before, like or after another. Only columns
    that both have are compared; NULL is least.
    """
    for one, other in zip(left, right, strict=False):
        if one != other:
            is_less = other is not None and (one is None or one < other)
            return -1 if is_less else 1
    return 0


def _end(end: pa.RecordBatch | None, layout: TableLayout) -> _End | None:
    if end is None:
        return None
    nullable = layout.nullable_key[: end.num_columns]
    values = tuple(manifest_value(column[0]) for column in end.columns)
    return _End(tuple(end.schema.names), nullable, encode(end.columns, nullable).scalar(0), values)
