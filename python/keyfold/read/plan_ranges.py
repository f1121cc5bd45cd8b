"""A plan of many files in ranges of partitions: a task of an executor plans each as a table is.

The list of manifests has the bounds of their partitions. Ranges begin where manifests do, so that
few manifests are read for several ranges. Driver and tasks cut the same list, which never changes,
and a task is told the number of its range alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from keyfold.options.declared import TableOptions
from keyfold.read.plan_head import PlanHead
from keyfold.read.request import ReadRequest
from keyfold.resources import budget
from keyfold.storage.metadata.entries import Record
from keyfold.storage.metadata.manifest_columns import VIEWS
from keyfold.storage.metadata.manifests import CACHE
from keyfold.storage.metadata.partition_bounds import Bounds, Partition, PartitionBounds
from keyfold.storage.metadata.snapshot_files import listed_of
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout

FILES_OF_RANGE = 100_000  # a manifest has 20,000 at most, and one or two are of two ranges
# Of what one process does, for each task at a time. A guess: on two cores tasks took 1.5 to 2 times
# as long as one process (docs/scale.md), and no cluster of more was there to measure.
MOST_WORK = 0.25
KEPT_BYTES = 64 << 20  # of decoded manifests, within the cap of a worker
_VIEW_BYTES = 16 << 20  # of those that are decompressed


@dataclass(frozen=True)
class PartitionRange:
    """The condition that the first value of a partition is `least` or more, and less than `end`,
    which is no bound if it is None. NULL is before all values.
    """

    least: Any = None
    end: Any = None

    def __call__(self, values: Partition, /) -> bool:
        value = values[0]
        if value is None:
            return self.least is None
        return self._begins_by(value) and self._ends_after(value)

    def may_hold(self, bounds: Sequence[Bounds], /) -> bool:
        """Whether a partition between bounds of its columns may be in the range."""
        low, high, nulls = bounds[0]
        if low is None or (self.least is None and nulls != 0):
            return True
        return self._begins_by(high) and self._ends_after(low)

    def _begins_by(self, value: Any) -> bool:
        return self.least is None or bool(self.least <= value)

    def _ends_after(self, value: Any) -> bool:
        return self.end is None or bool(value < self.end)


def ranges(table: Table, request: ReadRequest) -> list[PartitionRange]:
    """The ranges in which tasks plan a scan; none if it is of few files, or has an order or a
    limit, or if one process is about as quick.
    """
    is_whole = request.limit is None and request.only is None
    snapshot, codec = table.checked_snapshot, table.shapes.partition
    if snapshot is None or table.staged is not None or not is_whole or not codec.types:
        return []
    with table.reading(snapshot):
        listed = listed_of(table.manifests, snapshot)
    least = _least(table, request)
    if sum(map(_entries, listed)) < least:
        return []
    chosen = PlanHead.of(table, request).chosen
    bounds = [PartitionBounds.of(one, codec).columns for one in listed]
    asked = [
        (of, _entries(one))
        for of, one in zip(bounds, listed, strict=True)
        if not chosen.by_partition or chosen.keeps_partitions(of)
    ]
    files = sum(count for _, count in asked)
    if files < least:
        return []
    found = cut(asked, min(FILES_OF_RANGE, files // 8))
    work = sum(count for of, count in asked for one in found if one.may_hold(of))
    at_once = min(max(request.cores, 1), len(found))
    return found if work <= MOST_WORK * at_once * files else []


def whole_ranges(table: Table) -> list[PartitionRange]:
    """The ranges of all partitions of a table, each of FILES_OF_RANGE files or some more."""
    snapshot, codec = table.checked_snapshot, table.shapes.partition
    if snapshot is None or not codec.types:
        return []
    with table.reading(snapshot):
        listed = listed_of(table.manifests, snapshot)
    return cut(
        [(PartitionBounds.of(one, codec).columns, _entries(one)) for one in listed], FILES_OF_RANGE
    )


def _least(table: Table, request: ReadRequest) -> int:
    """The files from which tasks plan, by the options of the read or the table."""
    if TableOptions.plan_in_tasks_from.name not in request.options:
        return table.options.plan_in_tasks_from
    return PlanHead.of(table, request).settings.plan_in_tasks_from


def _entries(listed: Record) -> int:
    found: int = listed["_NUM_ADDED_FILES"] + listed["_NUM_DELETED_FILES"]
    return found


def cut(manifests: Iterable[tuple[Sequence[Bounds], int]], most: int) -> list[PartitionRange]:
    """Ranges of about `most` entries of manifests, by their bounds and the number of entries."""
    known = [(bounds[0][0], count) for bounds, count in manifests if bounds[0][0] is not None]
    begins, held = list[Any](), 0
    known.sort(key=lambda one: one[0])
    for low, count in known:
        if held >= most and low > (begins[-1] if begins else known[0][0]):
            begins.append(low)
            held = 0
        held += count
    return [PartitionRange(*one) for one in pairwise([None, *begins, None])]


def of_range(table: Table, request: ReadRequest, number: int) -> ReadRequest:
    """The request for one of the ranges of a request; each has its share of the cores."""
    found = ranges(table, request)
    cores = -(-request.cores // len(found))
    return replace(request, within=found[number], cores=cores)


def opened_in_task(layout: TableLayout, snapshot: Mapping[str, Any], tag: str) -> Table:
    """A table at a snapshot, given as JSON, as a task opens it; its process keeps few manifests."""
    if budget.is_capped():
        CACHE.bound(KEPT_BYTES)
        VIEWS.bound(_VIEW_BYTES)
    files = store_of(layout.location, layout.store).within(layout.location)
    known = Snapshot.from_json(snapshot)
    return Table(files, "", "", layout.name, layout, known.id, tag=tag, known=known)
