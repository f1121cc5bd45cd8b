"""Bounds of the partitions in a manifest, which its list has, so that a statement about some of
them leaves it unread.

Only sure facts count: a bound that is missing or not understood leaves nothing out.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.storage.metadata.entries import Record
from keyfold.types.literals import FLOATING

Partition = tuple[Any, ...]
Bounds = tuple[Any, Any, int | None]  # least, greatest (None: unknown), NULLs (None: unknown)
_UNKNOWN: Bounds = (None, None, None)
_FEW_PARTITIONS = 100  # each is compared with the bounds of each manifest


@runtime_checkable
class Bounded(Protocol):
    """A condition on partitions that can say that it takes none between bounds of their columns."""

    def __call__(self, values: Partition, /) -> bool: ...

    def may_hold(self, bounds: Sequence[Bounds], /) -> bool: ...


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
        return any(all(map(may_be, values, self.columns)) for values in partitions)

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

    def may_share(self, other: "PartitionBounds") -> bool:
        """Whether both may have entries of one partition."""
        return all(map(_may_meet, self.columns, other.columns))


@dataclass(frozen=True)
class SomePartitions:
    """The condition that a partition is one of some."""

    partitions: Collection[Partition]

    def __call__(self, values: Partition, /) -> bool:
        return values in self.partitions

    def may_hold(self, bounds: Sequence[Bounds], /) -> bool:
        """Whether an entry between bounds may be in one of them; not looked at if they are many."""
        is_many = len(self.partitions) > _FEW_PARTITIONS
        return is_many or PartitionBounds(tuple(bounds)).may_hold(self.partitions)


@dataclass(frozen=True)
class EitherPartitions:
    """The condition that one of two conditions takes a partition."""

    one: Bounded
    other: Bounded

    def __call__(self, values: Partition, /) -> bool:
        return self.one(values) or self.other(values)

    def may_hold(self, bounds: Sequence[Bounds], /) -> bool:
        """Whether one of them may."""
        return self.one.may_hold(bounds) or self.other.may_hold(bounds)


def _bounds(kind: str, low: Any, high: Any, nulls: int | None) -> Bounds:
    """The bounds of a column. NULLs are counted beside values only: some writers count wrong. NaN
    has no place among other numbers.
    """
    return _UNKNOWN if low is None or high is None or kind in FLOATING else (low, high, nulls)


def _may_meet(one: Bounds, other: Bounds) -> bool:
    (low, high, nulls), (least, most, others) = one, other
    if low is None or least is None:
        return True
    return bool(low <= most and least <= high) or (nulls != 0 and others != 0)


def may_be(value: Any, bounds: Bounds) -> bool:
    """Whether a value may be between bounds."""
    low, high, nulls = bounds
    if value is None:
        return nulls != 0
    return low is None or bool(low <= value <= high)
