"""From a table and the filters of a query to the splits Spark reads (driver side).

Files are left out before anything is merged. The others are cut, bucket by bucket, into sections of
overlapping keys (parts.py), which become tasks (splits.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller

import numpy as np

from keyfold.files.column_mapping import bounds
from keyfold.files.sections import sections
from keyfold.options.calls import READ_OPTIMIZED, value
from keyfold.options.values import boolean
from keyfold.predicates.prune import Pruning
from keyfold.predicates.sql_text import describe
from keyfold.read.folds import footer_facts, without_merge
from keyfold.read.indexes.index_pruning import with_keys, with_values
from keyfold.read.parts import KeyedSection, Reading, ScanParts
from keyfold.read.plan_head import PlanHead
from keyfold.read.provenance import divided
from keyfold.read.request import ReadRequest
from keyfold.read.splits import Task, tasks
from keyfold.read.waiting.waiting_splits import WaitingParts, apart
from keyfold.resources.garbage import makes_many
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.live_files import Asked, LiveFiles
from keyfold.storage.table import Table, reads_files
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import Aggregate, ScanSpec, Split

_NEVER = math.inf


@dataclass(frozen=True)
class ScanReport:
    """The findings of planning: rows and bytes of the files to read (before merging), and the
    predicates that were pushed. `unmerged`: records are folded to groups without a merge. `ranges`
    is the number of ranges that tasks have planned, `waiting` that of files whose rows wait.
    """

    rows: int
    bytes: int
    pushed: list[str]
    files_total: int
    files_read: int
    snapshot: int | None
    unmerged: bool
    ranges: int = 0
    waiting: int = 0


@reads_files
@makes_many
def plan_read(table: Table, request: ReadRequest) -> tuple[ScanSpec, Sequence[Task], ScanReport]:
    """The scan of a table's snapshot, and the splits of each of its tasks. Metadata columns come
    after the others. The option `read-optimized` leaves out all but the highest level, as Paimon's
    `t$ro` does: then nothing is merged, and rows are as old as the last full compaction.
    """
    head, aggregate = PlanHead.of(table, request), request.aggregate
    live, total = _asked_for(head)
    live, mixed = (live, WaitingParts()) if _is_optimized(head) else apart(head, live)
    if request.only is None:
        live = with_keys(head, live)
        parts = with_values(head, ScanParts.of(_reading(head), live))
    else:
        parts = ScanParts.of(_reading(head), live).among(request.only)
    whole = None if head.chosen.by_value else aggregate  # of rows that no condition leaves out
    unmerged = whole is not None and _is_unmerged(table.layout, whole, parts)
    unmerged = unmerged and not mixed.partitions
    # of a section whose first rows are asked for, only the first piece would be of use
    cut_from = _NEVER if request.is_top else _cut_from(table.layout, whole, unmerged)
    how = head.splitting(np.concatenate((parts.sizes, mixed.sizes)), cut_from)
    found: Sequence[Task] = tasks(how, parts)
    if mixed.partitions:
        found = [*found, *mixed.tasks(how)]
    if aggregate is not None and not aggregate.by and not found:
        # one row that sums up no rows
        found = [(Split(UNPARTITIONED, 0, table.layout.location, ()),)]
    pushed = head.chosen.pushed
    if aggregate is not None:
        pushed += [describe(predicate) for predicate in head.chosen.by_value]
    report = _report(pushed, total, parts, table.snapshot_id, unmerged)
    return _scan(head, live, mixed), found, _with_waiting(report, mixed)


def scan_of(table: Table, request: ReadRequest) -> ScanSpec:
    """The scan of a plan that others make, without the older schemas that its files use."""
    return _scan(PlanHead.of(table, request), LiveFiles((), ()), WaitingParts())


def _scan(head: PlanHead, files: LiveFiles, mixed: WaitingParts) -> ScanSpec:
    request = head.request
    own, metadata = divided(head.table.layout, request.columns)
    scan = head.scan(own, files)
    return replace(
        scan,
        schemas={**scan.schemas, **head.table.stored_schemas(mixed.files)},
        metadata=metadata,
        limit=request.limit,
        is_top=request.is_top,
        value_filter=head.chosen.by_value,
        aggregate=request.aggregate,
        **head.table.named_by,
    )


def _report(
    pushed: list[str], total: int, parts: ScanParts, snapshot: int | None, unmerged: bool
) -> ScanReport:
    sizes = parts.sizes
    return ScanReport(
        rows=parts.rows,
        bytes=int(sizes.sum()),
        pushed=pushed,
        files_total=total,
        files_read=len(sizes),
        snapshot=snapshot,
        unmerged=unmerged,
    )


def _with_waiting(report: ScanReport, mixed: WaitingParts) -> ScanReport:
    """The findings with those of partitions in which rows wait for buckets."""
    files, waiting = mixed.files, len(mixed.waiting)
    return replace(
        report,
        rows=report.rows + sum(file.rows for file in files),
        bytes=report.bytes + sum(file.size for file in files),
        files_total=report.files_total + waiting,
        files_read=report.files_read + len(files),
        waiting=waiting,
    )


def units(table: Table, least_level: int = 0) -> list[KeyedSection]:
    """The parts of a table's snapshot that can be read one after another, each whole: sections, in
    an order that the snapshot alone decides. Files below `least_level` are left out.
    """
    live = table.live().chosen(Asked(least_level=least_level))
    return list(ScanParts.of(_reading(PlanHead.of(table, ReadRequest(()))), live).units)


def _asked_for(head: PlanHead) -> tuple[LiveFiles, int]:
    """The files of interest at the levels that are read, and the number of all."""
    return head.live(least_level=head.settings.highest_level if _is_optimized(head) else 0)


def _is_optimized(head: PlanHead) -> bool:
    """Whether only the highest level is read."""
    doing = f"reading table {head.table.layout.name}"
    return bool(value(doing, head.request.options, READ_OPTIMIZED, boolean))


def _is_unmerged(layout: TableLayout, aggregate: Aggregate, parts: ScanParts) -> bool:
    """Whether the records of files fold to groups without a merge."""
    return without_merge.may_be_folded(layout, aggregate) and parts.takes_nothing_back()


def _cut_from(layout: TableLayout, aggregate: Aggregate | None, unmerged: bool) -> float:
    """The number of files from which sections may be cut: those of two or more have to be read even
    if footers have what is asked for.
    """
    if layout.key and aggregate is not None and footer_facts.answers(layout, aggregate):
        return _NEVER if unmerged else 2
    return 1 if layout.key else 2


def _reading(head: PlanHead) -> Reading:
    """The rules of a scan for its files. The first rows of a section in key order need it whole."""
    settings, layout = head.settings, head.table.layout
    divide: Callable[[Sequence[LiveFile]], list[KeyedSection]] = sections
    if head.has_vectors and not head.request.is_top:
        divide = _apart
    as_read = methodcaller("as_read", settings) if settings.snapshot_ordering else None
    lone = _lone_filter(head.table, head.chosen)
    # without a key nothing overlaps: every row of every file is a result
    return Reading(as_read, divide if layout.key else None, lone)


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


def _lone_filter(table: Table, chosen: Pruning) -> Callable[[LiveFile], bool] | None:
    """Whether a file that no other overlaps may hold rows that pass the value filters, if there are
    any. The rows of such a file are results.
    """
    if not chosen.by_value:
        return None

    def keeps(file: LiveFile) -> bool:
        if file.is_marked:
            return True
        stored = table.schema(file.schema_id)
        return chosen.keeps_values(bounds(table.layout, stored, file.value_stats(stored)))

    return keeps
