"""Bounds of the partitions in a manifest, which its list has, so that a statement about some of
them leaves it unread.

Only sure facts count: a bound that is missing or not understood leaves nothing out.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.storage.metadata.entries import Record
from keyfold.types.literals import FLOATING

Partition = tuple[Any, ...]
Bounds = tuple[Any, Any, int | None]  # least, greatest (None: unknown), NULLs (None: unknown)
_UNKNOWN: Bounds = (None, None, None)


@dataclass(frozen=True)
class PartitionBounds:
    """The bounds of each partition column over the entries of one manifest."""

    columns: tuple[Bounds, ...]

    @staticmethod
    def of(listed: Record, partition: RowCodec) -> "PartitionBounds":
        """The bounds in a record of a manifest list."""
        stats, count = listed["_PARTITION_STATS"], len(partition.types)
        try:
            lows, highs = (partition.decode(stats[side]) for side in ("_MIN_VALUES", "_MAX_VALUES"))
        except CorruptDataError:
            return PartitionBounds((_UNKNOWN,) * count)
        counts = stats["_NULL_COUNTS"] or ()
        nulls = counts if len(counts) == count else (None,) * count
        kinds = (one.name for one in partition.types)
        found = zip(kinds, lows, highs, nulls, strict=True)
        return PartitionBounds(tuple(_bounds(*one) for one in found))

    def may_hold(self, partitions: Collection[Partition]) -> bool:
        """Whether an entry may be in one of the partitions."""
        return any(all(map(_may_be, values, self.columns)) for values in partitions)

    @property
    def is_one(self) -> bool:
        """Whether all entries are in one partition."""
        return all(low is not None and low == high for low, high, _ in self.columns)

    def overlaps(self, other: "PartitionBounds") -> bool:
        """Whether one partition may be within both bounds, of which both must say something."""
        pairs = [
            (one, two)
            for one, two in zip(self.columns, other.columns, strict=True)
            if one[0] is not None and two[0] is not None
        ]
        return bool(pairs) and all(one[0] <= two[1] and two[0] <= one[1] for one, two in pairs)


def _bounds(kind: str, low: Any, high: Any, nulls: int | None) -> Bounds:
    """The bounds of a column. NULLs are counted beside values only: some writers count wrong. NaN
    has no place among other numbers.
    """
    return _UNKNOWN if low is None or high is None or kind in FLOATING else (low, high, nulls)


def _may_be(value: Any, bounds: Bounds) -> bool:
    low, high, nulls = bounds
    if value is None:
        return nulls != 0
    return low is None or bool(low <= value <= high)
