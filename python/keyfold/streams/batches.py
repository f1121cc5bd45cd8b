"""How far the next batch of a stream goes, and the tasks that read it.

A batch has rows of one full scan, cut into units that depend on the snapshot alone (sections of
buckets), or the changes of whole snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfold.changelog import changes_plan
from keyfold.changelog.specs import ChangesRequest
from keyfold.changelog.steps import seen, steps
from keyfold.changelog.views import ROWS, ROWS_ALONE
from keyfold.options.changelogs import changelog_level
from keyfold.read import scan_plan
from keyfold.read.request import ReadRequest, Units
from keyfold.storage.commits.conflicts import COMPACT
from keyfold.storage.commits.moves import has_moved
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.streams.offsets import Offset, check, offset_at
from keyfold.wire.specs import totals

Limits = Mapping[str, int]
_OF_ROWS = (ROWS.name, ROWS_ALONE.name)


@dataclass(frozen=True)
class Shown:
    """The rows of a stream: those of a view of changes. With `net` each key has one change a batch;
    `updates`: the two images of an update are called so.
    """

    view: str
    net: bool = False
    updates: bool = True

    @property
    def is_rows(self) -> bool:
        """Whether they are rows of the table, no changes."""
        return self.view in _OF_ROWS

    def asked(self, start: Offset, end: Offset, *, full: bool = False) -> ChangesRequest:
        """The changes of a batch, or all rows of the snapshot of its end: those whose changes
        a producer has written, as the others come with the next changes.
        """
        after = 0 if full else start.snapshot
        how = {"net": self.net, "updates": self.updates, "full": full}
        return ChangesRequest(
            self.view, after, end.snapshot, **how, only_written=full and not self.net
        )


def shown(asked: Mapping[str, Any], *, ignores_deletes: bool) -> Shown:
    """The rows that a question asks for. Deletes can't be seen among rows: they are an error unless
    they are ignored.
    """
    view = asked["view"]
    if view == ROWS.name and not ignores_deletes:
        view = ROWS_ALONE.name
    return Shown(view, asked.get("net", False), asked.get("updates", True))


def following(
    table: Table, start: Offset, rows: Shown, limits: Limits, until: int | None = None
) -> Offset:
    """The end of the batch that begins at `start`: as much as `limits` allow, but one unit or one
    snapshot at least; `start` itself if there is nothing new. `until` is the last snapshot that may
    be read. Raises ConflictError if the stream can't go on.
    """
    check(table, start)
    if start.index is not None:
        units = _units(replace(table, snapshot_id=start.snapshot, known=None), start, rows)
        index = start.index + _admitted((totals(unit) for unit in units[start.index :]), limits)
        return offset_at(table, start.snapshot, index if index < len(units) else None)
    latest = table.snapshot_id or 0
    last = latest if until is None else min(until, latest)
    numbers = range(start.snapshot + 1, last + 1)
    if not numbers:
        return start
    taken = len(numbers)
    if limits:
        taken = _admitted((totals(_added(table, number)) for number in numbers), limits)
    return offset_at(table, start.snapshot + taken)


def check_kept(table: Table, start: Offset, rows: Shown) -> None:
    """Raises SnapshotExpiredError if what a stream reads first, or the state before it, is no
    longer kept.
    """
    if start.index is None and start.snapshot < (table.snapshot_id or 0):
        for _ in steps(table, rows.asked(start, offset_at(table, start.snapshot + 1))):
            return
    elif start.snapshot:
        table.snapshots.read(start.snapshot)


def _units(table: Table, start: Offset, rows: Shown) -> Sequence[Sequence[LiveFile]]:
    """The files of each unit of a full scan of the table's snapshot."""
    if rows.is_rows:
        return scan_plan.units(table, changelog_level(table.options))
    return changes_plan.units(table, rows.asked(start, start, full=True))


def _admitted(sizes: Iterable[Mapping[str, int]], limits: Limits) -> int:
    """How many of the first are in the limits together: one at least, and those after it that add
    nothing.
    """
    totals, taken = dict.fromkeys(limits, 0), 0
    for size in sizes:
        totals = {kind: totals[kind] + size[kind] for kind in limits}
        is_over = any(totals[kind] > most for kind, most in limits.items())
        if taken and is_over and size["files"]:
            break
        taken += 1
    return taken


def _added(table: Table, snapshot_id: int) -> Sequence[LiveFile]:
    """The files whose records are new in a snapshot: none if it only compacted, or has expired.
    Rows without a bucket are new when they get it.
    """
    found = table.snapshots.find(snapshot_id)
    if found is None or (found.commit_kind == COMPACT and not has_moved(table, found)):
        return ()
    with table.reading(found):
        return seen(file for added, _ in table.manifests.changes(found) for file in added)


def plan_batch(
    table: Table,
    start: Offset,
    end: Offset,
    rows: Shown,
    columns: Sequence[str],
    options: Mapping[str, str],
    cores: int,
) -> tuple[str, Any, Sequence[Any]]:
    """The tasks of the batch (start, end]: the question by which workers read them, its spec, and
    the splits of each task.
    """
    check(table, start)
    # 0 is before the first snapshot
    pinned = replace(table, snapshot_id=end.snapshot or None, known=None)
    request = ReadRequest(columns, options=options, cores=cores)
    if start.index is not None:
        least = changelog_level(table.options) if rows.is_rows else 0
        request = replace(request, only=Units(start.index, end.index, least))
        if rows.is_rows:
            scan, splits, _ = scan_plan.plan_read(pinned, request)
            return "read", scan, splits
    asked = rows.asked(start, end, full=start.index is not None)
    spec, tasks, _ = changes_plan.plan_changes(pinned, asked, request)
    return "read_changes", spec, tasks
