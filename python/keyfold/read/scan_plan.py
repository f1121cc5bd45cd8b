"""From a table and the filters of a query to the splits Spark reads (driver side).

Files are left out before anything is merged. The others are cut, bucket by bucket, into sections of
overlapping keys, which become tasks (splits.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from keyfold.files.column_mapping import bounds
from keyfold.files.sections import sections
from keyfold.options.calls import READ_OPTIMIZED, value
from keyfold.options.values import boolean
from keyfold.predicates.prune import Pruning
from keyfold.read.folds import footer_facts, without_merge
from keyfold.read.plan_head import PlanHead
from keyfold.read.provenance import divided
from keyfold.read.request import ReadRequest, Units
from keyfold.read.splits import KeyedSection, Task, tasks
from keyfold.resources.garbage import makes_many
from keyfold.storage.metadata.entries import LiveFile, Place, by_place
from keyfold.storage.table import Table, reads_files
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import Aggregate, ScanSpec, Split


@dataclass(frozen=True)
class ScanReport:
    """The findings of planning: rows and bytes of the files to read (before merging), and the
    predicates that were pushed. `unmerged`: records are folded to groups without a merge.
    """

    rows: int
    bytes: int
    pushed: list[str]
    files_total: int
    files_read: int
    snapshot: int | None
    unmerged: bool


@reads_files
@makes_many
def plan(table: Table, request: ReadRequest) -> tuple[ScanSpec, list[Task], ScanReport]:
    """The scan of a table's snapshot, and the splits of each of its tasks. Metadata columns come
    after the others. The option `read-optimized` leaves out all but the highest level, as Paimon's
    `t$ro` does: then nothing is merged, and rows are as old as the last full compaction.
    """
    head, aggregate = PlanHead.of(table, request), request.aggregate
    files, total = _asked_for(head)
    places = _some(list(_sections(head, files)), request.only)
    read = [file for _, found in places for section in found for file in section]
    unmerged = aggregate is not None and _is_unmerged(table.layout, aggregate, read)
    # of a section whose first rows are asked for, only the first piece would be of use
    cuts = _never if request.is_top else _cuts(table.layout, aggregate, unmerged)
    found = list(tasks(head.splitting(read, cuts), places))
    if aggregate is not None and not aggregate.by and not found:
        # one row that sums up no rows
        found = [(Split(UNPARTITIONED, 0, table.layout.location, ()),)]
    own, metadata = divided(table.layout, request.columns)
    scan = replace(
        head.scan(own, files),
        metadata=metadata,
        limit=request.limit,
        is_top=request.is_top,
        value_filter=head.chosen.by_value,
        aggregate=aggregate,
        **table.named_by,
    )
    return scan, found, _report(head.chosen.pushed, total, read, table.snapshot_id, unmerged)


def _report(
    pushed: list[str], total: int, read: Sequence[LiveFile], snapshot: int | None, unmerged: bool
) -> ScanReport:
    return ScanReport(
        rows=sum(file.rows for file in read),
        bytes=sum(file.size for file in read),
        pushed=pushed,
        files_total=total,
        files_read=len(read),
        snapshot=snapshot,
        unmerged=unmerged,
    )


def units(table: Table, least_level: int = 0) -> list[KeyedSection]:
    """The parts of a table's snapshot that can be read one after another, each whole: sections, in
    an order that the snapshot alone decides. Files below `least_level` are left out.
    """
    files = [file for file in table.live_files() if file.level >= least_level]
    places = _sections(PlanHead.of(table, ReadRequest(())), files)
    return [unit for _, unit in _units(places)]


def _some(
    places: list[tuple[Place, list[KeyedSection]]], only: Units | None
) -> list[tuple[Place, list[KeyedSection]]]:
    """The places that are left if only some units are read."""
    if only is None:
        return places
    return [(place, [unit]) for place, unit in only.among(_units(places))]


def _units(places: Iterable[tuple[Place, list[KeyedSection]]]) -> list[tuple[Place, KeyedSection]]:
    return [(place, unit) for place, found in places for unit in found]


def _asked_for(head: PlanHead) -> tuple[list[LiveFile], int]:
    """The files of interest at the levels that are read, and the number of all."""
    request, doing = head.request, f"reading table {head.table.layout.name}"
    is_optimized = value(doing, request.options, READ_OPTIMIZED, boolean)
    least = head.settings.highest_level if is_optimized else 0
    files, total = head.files()
    return [file for file in files if file.level >= least] if least else files, total


def _is_unmerged(layout: TableLayout, aggregate: Aggregate, files: Iterable[LiveFile]) -> bool:
    """Whether the records of files fold to groups without a merge."""
    foldable = without_merge.may_be_folded(layout, aggregate)
    return foldable and all(map(_takes_nothing_back, files))


def _cuts(
    layout: TableLayout, aggregate: Aggregate | None, unmerged: bool
) -> Callable[[KeyedSection], bool]:
    """The sections that may be cut."""
    if layout.key and aggregate is not None and footer_facts.answers(layout, aggregate):
        return _never if unmerged else _is_merged
    return bool if layout.key else _is_merged


def _is_merged(section: KeyedSection) -> bool:
    """Whether a section has to be read even if footers have what is asked for."""
    return len(section) > 1


def _never(section: KeyedSection) -> bool:
    return False


def _takes_nothing_back(file: LiveFile) -> bool:
    """Whether a file holds no -U, no -D and no marks, if its writer counted right."""
    return file.delete_rows == 0 and not file.is_marked


def _sections(
    head: PlanHead, files: Iterable[LiveFile]
) -> Iterator[tuple[Place, list[KeyedSection]]]:
    """The sections of each bucket that may hold rows of interest."""
    lone = _lone_filter(head.table, head.chosen)
    text = cache(str)  # of a partition, which has many buckets
    divide = _division(head)
    for place, found in sorted(by_place(files).items(), key=lambda item: text(item[0][0])):
        is_stamped = head.settings.snapshot_ordering
        as_read = [file.as_read(head.settings) for file in found] if is_stamped else found
        kept = [section for section in divide(as_read) if len(section) > 1 or lone(section[0])]
        if kept:
            yield place, kept


def _division(head: PlanHead) -> Callable[[Sequence[LiveFile]], list[KeyedSection]]:
    """The function that gives the sections of a bucket's files. The first rows of a section in key
    order need it whole.
    """
    if not head.table.layout.key:  # nothing overlaps: every row of every file is a result
        return lambda files: [(file,) for file in files]
    return _apart if head.has_vectors and not head.request.is_top else sections


def _apart(files: Sequence[LiveFile]) -> list[KeyedSection]:
    """The sections of a bucket whose compactions mark the rows that are replaced. Where no file has
    a row that is yet to mark others, each is a section of its own: all its rows are results.
    """
    found: list[KeyedSection] = []
    for section in sections(files):
        found += [(file,) for file in section] if _is_final(section) else [section]
    return found


def _is_final(files: KeyedSection) -> bool:
    """Whether no file has a row that marks others once it is compacted."""
    return all(file.level and not file.delete_rows and not file.is_marked for file in files)


def _lone_filter(table: Table, chosen: Pruning) -> Callable[[LiveFile], bool]:
    """Whether a file that no other overlaps may hold rows that pass the value filters. The rows of
    such a file are results.
    """
    if not chosen.by_value:
        return lambda _: True

    def keeps(file: LiveFile) -> bool:
        if file.is_marked:
            return True
        stored = table.schema(file.schema_id)
        return chosen.keeps_values(bounds(table.layout, stored, file.value_stats(stored)))

    return keeps
