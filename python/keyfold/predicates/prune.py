"""The files a scan can leave out before merging: by partition, by bucket hash and by key
statistics.

A predicate over partition and key columns holds for all rows of a key or for no row of it. So
leaving out files (or row groups) that can't satisfy it never changes the merge of a key that does.
Value columns are unknown here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.errors import NotSupportedError
from keyfold.files.paimon_values import hashes
from keyfold.options.declared import TableOptions
from keyfold.predicates.ranges import Ranges, ValueRange, decided, may_be_true
from keyfold.predicates.sql_text import describe
from keyfold.types.literals import FLOATING, NAN_TOP, Unknown, arrow_array, comparable
from keyfold.types.logical import Atomic, name_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate, conjuncts

MOST_KEYS = 1024
Bounds = tuple[Any, Any, int | None]


@dataclass(frozen=True)
class Pruning:
    """The predicates of a scan, grouped by what they can decide."""

    layout: TableLayout
    by_partition: tuple[Predicate, ...]
    by_key: tuple[Predicate, ...]
    by_value: tuple[Predicate, ...]
    bucket_hashes: tuple[int, ...] | None

    @property
    def pushed(self) -> list[str]:
        """SQL text of the predicates that leave out files."""
        return [describe(predicate) for predicate in (*self.by_partition, *self.by_key)]

    def keeps_partition(self, values: Sequence[Any]) -> bool:
        """Whether a partition (manifest values) may hold rows of the scan."""
        ranges = partition_ranges(self.layout, values)
        return all(may_be_true(predicate, ranges) for predicate in self.by_partition)

    def keeps_partitions(self, bounds: Sequence[Bounds]) -> bool:
        """Whether a partition between bounds of its columns (manifest values) may hold rows of the
        scan.
        """
        return may_hold(self.layout, self.by_partition, bounds)

    @property
    def bucket_filter(self) -> Callable[[int, int], bool] | None:
        """Whether a bucket, given their number, may hold rows of the scan; None if all may."""
        hashes = self.bucket_hashes
        if hashes is None:
            return None
        by_total: dict[int, frozenset[int]] = {}

        def keeps(bucket: int, total: int) -> bool:
            if total <= 0:
                return True
            if total not in by_total:
                by_total[total] = frozenset(abs(number) % total for number in hashes)
            return bucket in by_total[total]

        return keeps

    def keeps_file(
        self,
        partition: Sequence[Any],
        first: Sequence[Any],
        last: Sequence[Any],
        stats: Callable[[], Sequence[Bounds]],
    ) -> bool:
        """Whether a file may hold rows of the scan. `stats` gives bounds for each key column and is
        called only if they are used.
        """
        if not self.by_key:
            return True
        ranges = partition_ranges(self.layout, partition)
        ranges |= key_ranges(self.layout, first, last, stats)
        return all(may_be_true(predicate, ranges) for predicate in self.by_key)

    def keeps_values(self, stats: Mapping[str, Bounds]) -> bool:
        """Whether rows with these statistics by column may pass; the rows are results."""
        ranges = {name: _stored_range(self.layout, name, *stats[name]) for name in stats}
        return all(may_be_true(predicate, ranges) for predicate in self.by_value)


def pruning(layout: TableLayout, options: TableOptions, filters: Sequence[Predicate]) -> Pruning:
    """Groups the filters of a scan, all of which must hold."""
    partition, key = set(layout.partition_keys), set(layout.key)
    by_partition, by_key, by_value = [], [], []
    for predicate in conjuncts(filters):
        columns = predicate.columns
        if columns and columns <= partition:
            by_partition.append(predicate)
        elif columns and columns <= partition | key:
            by_key.append(predicate)
        elif columns:
            by_value.append(predicate)
    hashes = _bucket_hashes(layout, options, by_key)
    return Pruning(layout, tuple(by_partition), tuple(by_key), tuple(by_value), hashes)


def partition_ranges(layout: TableLayout, values: Sequence[Any]) -> dict[str, ValueRange]:
    """Partition values as exact ranges."""
    return {
        name: ValueRange.of_value(layout.column(name).type, value)
        for name, value in zip(layout.partition_keys, values, strict=True)
    }


def may_hold(
    layout: TableLayout, predicates: Iterable[Predicate], bounds: Sequence[Bounds]
) -> bool:
    """Whether all predicates may hold of a partition between bounds of its columns."""
    named = zip(layout.partition_keys, bounds, strict=True)
    ranges = {name: _stored_range(layout, name, *of_column) for name, of_column in named}
    return all(may_be_true(predicate, ranges) for predicate in predicates)


@dataclass(frozen=True)
class PartitionCondition:
    """Predicates that each decide about a partition as a whole, on behalf of `what`."""

    layout: TableLayout
    predicates: tuple[Predicate, ...]
    what: str

    def __call__(self, values: Sequence[Any]) -> bool:
        """Whether a partition (manifest values) satisfies all of them. Raises NotSupportedError if
        its values do not decide one: nothing is guessed.
        """
        ranges = partition_ranges(self.layout, values)
        held = [self._holds(one, ranges) for one in self.predicates]  # each, for its error
        return all(held)

    def may_hold(self, bounds: Sequence[Bounds]) -> bool:
        """Whether a partition between bounds of its columns may satisfy all of them, or would be
        refused.
        """
        ranges = partition_ranges(self.layout, [low for low, _, _ in bounds])
        if any(decided(predicate, ranges) is None for predicate in self.predicates):
            return True
        return may_hold(self.layout, self.predicates, bounds)

    def _holds(self, predicate: Predicate, ranges: Ranges) -> bool:
        found = decided(predicate, ranges)
        if found is None:
            raise NotSupportedError(
                f"{self.what}: whether a partition is meant can't be decided; compare partition "
                f"columns with constants of their type; found {describe(predicate)}"
            )
        return found


def on_partitions(
    layout: TableLayout, filters: Sequence[Predicate], what: str
) -> PartitionCondition:
    """The condition that a partition satisfies all filters. Each filter must decide about a
    partition as a whole. Raises NotSupportedError, on behalf of `what`, if one has other columns.
    """
    predicates, keys = tuple(conjuncts(filters)), layout.partition_keys
    for predicate in predicates:
        if predicate.columns - set(keys):
            raise NotSupportedError(
                f"{what}: a condition takes partition columns ({', '.join(keys) or 'there is none'}"
                f"); found {describe(predicate)}"
            )
    return PartitionCondition(layout, predicates, what)


def _stored_range(
    layout: TableLayout, name: str, low: Any, high: Any, nulls: int | None
) -> ValueRange:
    kind = layout.column(name).type
    low, high = comparable(low, kind), comparable(high, kind)
    if name_of(kind) == "CHAR":
        low = high = None  # in the order of the text without its padding
    if name_of(kind) in FLOATING:
        low, high = (None, None) if low == NAN_TOP else (low, NAN_TOP)
    return ValueRange(kind, low, high, nulls != 0)


def key_ranges(
    layout: TableLayout,
    first: Sequence[Any],
    last: Sequence[Any],
    stats: Callable[[], Sequence[Bounds]],
) -> dict[str, ValueRange]:
    """Ranges of the key columns of a file; the leading one is exact, by the first and last key."""
    bounds = [_lead(first[0], last[0], stats), *_behind(layout, stats)]
    found = {}
    for place, (name, (low, high, nulls)) in enumerate(zip(layout.key, bounds, strict=True)):
        kind = layout.column(name).type
        low, high = comparable(low, kind), comparable(high, kind)
        if name_of(kind) == "CHAR":
            low = high = None  # stored in the order of the text without its padding
        if place and name_of(kind) in FLOATING:
            high = NAN_TOP  # statistics leave NaN out
        may_hold_value = place > 0 or last[0] is not None
        found[name] = ValueRange(kind, low, high, kind.nullable and nulls != 0, may_hold_value)
    return found


def _lead(first: Any, last: Any, stats: Callable[[], Sequence[Bounds]]) -> Bounds:
    """Bounds of the leading key column. The file is in its order: NULLs, then values."""
    if first is not None:
        return first, last, 0
    return stats()[0] if last is not None else (None, None, None)


def _behind(layout: TableLayout, stats: Callable[[], Sequence[Bounds]]) -> Sequence[Bounds]:
    return stats()[1:] if len(layout.key) > 1 else ()


def _bucket_hashes(
    layout: TableLayout, options: TableOptions, predicates: Sequence[Predicate]
) -> tuple[int, ...] | None:
    """Hashes of all bucket keys the predicates allow; None if they don't pin every bucket-key
    column.
    """
    allowed = [pinned(layout, name, predicates) for name in options.bucket_key]
    if not allowed or any(values is None for values in allowed):
        return None
    combinations = list(itertools.product(*(values for values in allowed if values is not None)))
    if len(combinations) > MOST_KEYS:
        return None
    if not combinations:
        return ()
    try:
        columns = [
            arrow_array([row[place] for row in combinations], layout.column(name).type)
            for place, name in enumerate(options.bucket_key)
        ]
    except (pa.ArrowInvalid, OverflowError):
        return None
    return tuple(hashes(layout, options.bucket_key, columns).tolist())


def pinned(layout: TableLayout, name: str, predicates: Sequence[Predicate]) -> set[Any] | None:
    """The values a column may have; None means any. Floating values are left alone, as 0.0 and NaN
    have several bit patterns. So is CHAR, which may be stored with or without its padding.
    """
    kind = layout.column(name).type
    if not isinstance(kind, Atomic) or kind.name in (*FLOATING, "CHAR"):
        return None
    found: set[Any] | None = None
    for predicate in predicates:
        values = _equalities(predicate, name, kind)
        if values is not None:
            found = values if found is None else found & values
    return found


def _equalities(predicate: Predicate, name: str, kind: Atomic) -> set[Any] | None:
    """The values (NULL as None) for which a predicate can be true; None if any value may do."""
    op = predicate.op
    try:
        if op not in ("=", "<=>", "IN", "IS_NULL") or predicate.column != name:
            return None
        if op == "IS_NULL":
            return {None}
        found = predicate.members(kind)
    except Unknown:
        return None
    return {*found.ordered, None} if found.has_null and op == "<=>" else {*found.ordered}
