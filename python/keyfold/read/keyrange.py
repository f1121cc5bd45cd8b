"""The key range a split is cut to, where one bucket is read by several Spark partitions.

Every run of a section is cut alike, so each key is merged whole in exactly one split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.journey import Split
from keyfold.kernels.keys import encode
from keyfold.layout import TableLayout
from keyfold.read.literals import comparable, manifest_value
from keyfold.read.predicates import Ranges

Bound = int | bytes | None


@dataclass(frozen=True)
class KeyRange:
    """Keys above `after` (that key itself not included) up to `until` (included); None is open.

    `lead` holds the first key column's values at both ends, for row group statistics.
    """

    key: tuple[str, ...]
    after: Bound
    until: Bound
    lead: tuple[Any, Any]

    @staticmethod
    def of(split: Split, layout: TableLayout) -> KeyRange | None:
        """The range of a split, None if it has no bounds."""
        if split.after is None and split.until is None:
            return None
        ends = (split.after, split.until)
        after, until = (None if end is None else _encoded(end, layout.key) for end in ends)
        kind = layout.column(layout.key[0]).type
        low, high = (
            None if end is None else comparable(manifest_value(end.column(layout.key[0])[0]), kind)
            for end in ends
        )
        return KeyRange(layout.key, after, until, (low, high))

    def cut(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch, sorted by key, that lie inside."""
        keys = encode([batch.column(name) for name in self.key])
        start = 0 if self.after is None else keys.above(self.after)
        stop = len(keys) if self.until is None else keys.above(self.until)
        return batch.slice(start, max(stop - start, 0))

    def may_hold(self, ranges: Ranges) -> bool:
        """False only if rows with these ranges all lie outside."""
        found = ranges.get(self.key[0])
        if found is None or found.low is None or found.high is None:
            return True
        low, high = self.lead
        return (low is None or found.high >= low) and (high is None or found.low <= high)


def _encoded(end: pa.RecordBatch, key: tuple[str, ...]) -> Bound:
    return encode([end.column(name) for name in key]).scalar(0)
