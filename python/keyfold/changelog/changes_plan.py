"""From a range of snapshots to the splits whose tasks read its changes (driver side).

A snapshot that a producer gave changelog files has its changes in them. The others are compared
with the snapshot before, and that only in sections of buckets that hold a file which the snapshot
added or removed. A compaction changes no row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from keyfold.changelog.parts import Part, cut, parts_of, places
from keyfold.changelog.specs import ChangeSplit, ChangesRequest, ChangesSpec
from keyfold.changelog.steps import SnapshotChange, keeper_of, steps
from keyfold.changelog.views import COMMIT, check_columns, view
from keyfold.errors import NotSupportedError
from keyfold.files.sections import packed
from keyfold.predicates.ranges import ValueRange, may_be_true
from keyfold.read.plan_head import PlanHead
from keyfold.read.request import ReadRequest
from keyfold.read.splits import Splitting
from keyfold.storage.metadata.entries import LiveFile, identifier
from keyfold.storage.table import Table, reads_files
from keyfold.storage.waiting_files import check_by_buckets
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate, conjuncts

ChangeTask = tuple[ChangeSplit, ...]


@dataclass(frozen=True)
class ChangesReport:
    """The findings of planning: rows and bytes of the files to read, and of the snapshots in the
    range how many have changes.
    """

    rows: int
    bytes: int
    files: int
    pushed: list[str]
    snapshots: int


@reads_files
def plan_changes(
    table: Table, asked: ChangesRequest, request: ReadRequest, *, in_order: bool = False
) -> tuple[ChangesSpec, list[ChangeTask], ChangesReport]:
    """The changes of a range, read under the table's newest schema, and the splits of each task.
    With `in_order` one task has all changes of a key, each commit's after those of the one before.

    Raises SnapshotExpiredError, which names the earliest snapshot, if one of the range or the one
    before it is no longer kept.
    """
    if not table.layout.key:
        raise NotSupportedError(f"table {table.layout.name} has no primary key: it has no changes")
    check_by_buckets(table, "reading changes of")
    check_columns(view(asked.view), table.layout, request.columns)
    own, of_commits = _filters(table.layout, asked, request.filters)
    head = PlanHead.of(table, replace(request, filters=own))
    found = [step for step in steps(table, asked) if _is_wanted(step, of_commits)]
    every = [part for step in found for part in parts_of(head, step)]
    parts = every if request.only is None else request.only.among(every)
    files = {identifier(file.record): file for part in parts for file in part.files}.values()
    how = head.splitting([file.size for file in files])
    divided = _by_place if in_order and len({part.snapshot for part in parts}) > 1 else _by_size
    tasks = divided(how, parts, asked.net)
    oldest = min((state.id for step in found for state in step.states), default=None)
    columns = _columns_read(head, found if not asked.full else ())
    keeper = "" if oldest is None else keeper_of(table, oldest)
    scan = replace(head.scan(columns, files), snapshot=oldest, keeper=keeper)
    millis = {snapshot: time for step in found for snapshot, time in step.millis.items()}
    by_value, named = head.chosen.by_value, tuple(request.columns)
    spec = ChangesSpec(scan, asked, named, millis, by_value, request.limit)
    report = ChangesReport(
        rows=sum(file.rows for part in parts for _, file in part.touched),
        bytes=sum(file.size for file in files),
        files=len(files),
        pushed=head.chosen.pushed,
        snapshots=len(found),
    )
    return spec, tasks, report


def units(table: Table, asked: ChangesRequest) -> list[Sequence[LiveFile]]:
    """The files of the parts in which all rows of a snapshot can be read, one after another, in an
    order that the snapshot alone decides.
    """
    head = PlanHead.of(table, ReadRequest(()))
    return [part.files for step in steps(table, asked) for part in parts_of(head, step)]


def _by_size(how: Splitting, parts: Iterable[Part], is_net: bool) -> list[ChangeTask]:
    """The splits of the parts, in tasks of about as many bytes."""
    units = (unit for part in parts for unit in cut(how, part, is_net=is_net))
    return [tuple(s for s, _ in held) for held in packed(units, itemgetter(1), how.target)]


def _by_place(how: Splitting, parts: Sequence[Part], is_net: bool) -> list[ChangeTask]:
    """The splits of the parts, in one task for each place, as a key stays where it is."""
    where = places(file for part in parts for file in part.files)
    found: defaultdict[Hashable, list[ChangeSplit]] = defaultdict(list)
    for part in parts:
        found[where(part.files[0])] += (split for split, _ in cut(how, part, is_net=is_net))
    return [tuple(splits) for splits in found.values()]


def _columns_read(head: PlanHead, found: Iterable[SnapshotChange]) -> tuple[str, ...]:
    """The columns that are read of files: all if rows are compared, as any may tell them apart."""
    layout, chosen = head.table.layout, head.chosen
    every = tuple(layout.arrow_schema.names)
    if any(step.stored is None for step in found):
        return every
    in_filters = (name for p in (*chosen.by_key, *chosen.by_value) for name in p.columns)
    wanted = {*head.request.columns, *layout.primary_key, *layout.key, *in_filters}
    return tuple(name for name in every if name in wanted)


def _filters(
    layout: TableLayout, asked: ChangesRequest, filters: Sequence[Predicate]
) -> tuple[tuple[Predicate, ...], tuple[Predicate, ...]]:
    """The filters on the table's columns, and those that a snapshot decides."""
    every = list(conjuncts(filters)) if view(asked.view).is_plain else []
    own = tuple(p for p in every if all(map(layout.has_column, p.columns)))
    of_commits = tuple(p for p in every if p.columns and p.columns <= COMMIT.keys())
    return own, () if asked.net else of_commits


def _is_wanted(step: SnapshotChange, predicates: Iterable[Predicate]) -> bool:
    """Whether the changes of a snapshot may pass filters on its number and time."""
    values = zip(COMMIT.items(), (step.after.id, step.after.time_millis * 1000), strict=True)
    ranges = {name: ValueRange(kind, value, value, False) for (name, kind), value in values}
    return all(may_be_true(predicate, ranges) for predicate in predicates)
