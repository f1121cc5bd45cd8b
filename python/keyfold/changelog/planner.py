"""From a range of snapshots to the splits whose tasks read its changes (driver side).

A snapshot that a producer gave changelog files has its changes in them. The others are compared
with the snapshot before, and that only in sections of buckets that hold a file which the snapshot
added or removed. A compaction changes no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from keyfold.changelog.parts import cut, parts_of
from keyfold.changelog.specs import Asked, ChangeSplit, ChangesSpec
from keyfold.changelog.steps import Step, keeper_of, steps
from keyfold.changelog.views import COMMIT, columns_of, view
from keyfold.errors import NotSupportedError, TableError
from keyfold.files.sections import packed
from keyfold.options import parse
from keyfold.options.calls import OF_READS
from keyfold.predicates.condition import undecided
from keyfold.predicates.prune import Pruning, pruning
from keyfold.predicates.ranges import Range, may_be_true
from keyfold.read.planner import schemas_of
from keyfold.read.splits import Splitting, task_size
from keyfold.storage.metadata.entries import LiveFile, identifier
from keyfold.storage.table import Table, reads_files
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate, conjuncts
from keyfold.wire.specs import ScanSpec

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
def plan(
    table: Table,
    columns: Sequence[str],
    asked: Asked,
    filters: Sequence[Predicate] = (),
    limit: int | None = None,
    options: Mapping[str, str] | None = None,
    *,
    cores: int = 1,
    enforced: Sequence[Predicate] = (),
    only: slice = slice(None),
) -> tuple[ChangesSpec, list[ChangeTask], ChangesReport]:
    """The changes of a range, read under the table's newest schema, and the splits of each task.
    `columns` are those of the view. All `filters` must hold; Spark has to check them again, except
    those in `enforced`. `options` are those of scans. `only` takes some `units`.

    Raises SnapshotExpiredError, which names the earliest snapshot, if one of the range or the one
    before it is no longer kept.
    """
    layout = table.layout
    if not layout.key:
        raise NotSupportedError(f"table {layout.name} has no primary key: it has no changes")
    overridden = {name: text for name, text in (options or {}).items() if name in OF_READS}
    settings = parse(replace(layout, options={**layout.options, **overridden}))
    known = columns_of(view(asked.view), layout)
    if missing := [name for name in columns if name not in known]:
        raise TableError(f"table {layout.name}: changes have no column {missing[0]}")
    assert undecided(layout, enforced) is None, "a condition that Spark checks no more"
    chosen, of_commits = _chosen(table, asked, filters)
    found = [step for step in steps(table, asked) if _is_wanted(step, of_commits)]
    parts = [part for step in found for part in parts_of(table, settings, step, chosen)][only]
    files = {identifier(file.record): file for part in parts for file in part.files}.values()
    how = Splitting(layout, settings, task_size(settings, files, cores), chosen.by_key)
    units = (unit for part in parts for unit in cut(how, part, is_net=asked.net))
    tasks = [tuple(s for s, _ in held) for held in packed(units, itemgetter(1), how.target)]
    oldest = min((state.id for step in found for state in step.states), default=None)
    scan = ScanSpec(
        layout=layout,
        columns=_columns_read(layout, columns, chosen, found if not asked.full else ()),
        schemas=schemas_of(table, files),
        key_filter=chosen.by_key,
        verify=settings.verify_files,
        snapshot=oldest,
        keeper="" if oldest is None else keeper_of(table, oldest),
    )
    millis = {snapshot: time for step in found for snapshot, time in step.millis.items()}
    spec = ChangesSpec(scan, asked, tuple(columns), millis, chosen.by_value, limit)
    report = ChangesReport(
        rows=sum(file.rows for part in parts for _, file in part.touched),
        bytes=sum(file.size for file in files),
        files=len(files),
        pushed=chosen.pushed,
        snapshots=len(found),
    )
    return spec, tasks, report


def units(table: Table, asked: Asked) -> list[Sequence[LiveFile]]:
    """The files of the parts in which all rows of a snapshot can be read, one after another, in an
    order that the snapshot alone decides.
    """
    chosen = pruning(table.layout, table.options, ())
    return [
        part.files
        for step in steps(table, asked)
        for part in parts_of(table, table.options, step, chosen)
    ]


def _columns_read(
    layout: TableLayout, columns: Sequence[str], chosen: Pruning, found: Iterable[Step]
) -> tuple[str, ...]:
    """The columns that are read of files: all if rows are compared, as any may tell them apart."""
    every = tuple(layout.arrow_schema.names)
    if any(step.stored is None for step in found):
        return every
    in_filters = (name for p in (*chosen.by_key, *chosen.by_value) for name in p.columns)
    wanted = {*columns, *layout.primary_key, *layout.key, *in_filters}
    return tuple(name for name in every if name in wanted)


def _chosen(
    table: Table, asked: Asked, filters: Sequence[Predicate]
) -> tuple[Pruning, tuple[Predicate, ...]]:
    """The filters on the table's columns, and those that a snapshot decides."""
    layout = table.layout
    every = list(conjuncts(filters)) if view(asked.view).is_plain else []
    own = [p for p in every if all(map(layout.has_column, p.columns))]
    of_commits = tuple(p for p in every if p.columns and p.columns <= COMMIT.keys())
    return pruning(layout, table.options, own), () if asked.net else of_commits


def _is_wanted(step: Step, predicates: Iterable[Predicate]) -> bool:
    """Whether the changes of a snapshot may pass filters on its number and time."""
    values = zip(COMMIT.items(), (step.after.id, step.after.time_millis * 1000), strict=True)
    ranges = {name: Range(kind, value, value, False) for (name, kind), value in values}
    return all(may_be_true(predicate, ranges) for predicate in predicates)
