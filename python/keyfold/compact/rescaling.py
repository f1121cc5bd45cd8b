"""A rescale as a job: its tasks write the table's files anew, and one commit publishes them."""

from __future__ import annotations

from typing import Any

from keyfold.compact import rescale
from keyfold.compact.running_job import Load, abandon
from keyfold.compact.task_runner import TaskRunner, counted
from keyfold.errors import TableError
from keyfold.options.parsing import parse
from keyfold.storage.commits import rescale as storage
from keyfold.storage.maintenance.due import followed
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle
from keyfold.wire.specs import CommitMessage, totals


def rescaled(runner: TaskRunner, load: Load, buckets: int) -> dict[str, Any]:
    """Give the table that `load` gives another number of buckets: what it had and has. Raises
    ConflictError if another job committed meanwhile, TableError if a task failed; then nothing has
    changed.
    """
    table, planned = _planned(runner, load, buckets)
    before = {file.total_buckets for file in planned.files} or {parse(table.layout).bucket}
    title = f"keyfold: rescale {table.layout.name} to {buckets} buckets: "
    title += counted(len(planned.tasks), "task")
    runner.note(title)
    results: list[CommitMessage] = []
    try:
        _take(table, runner.made(title, planned.spec, planned.tasks), results)
        newest = open_handle(table.handle, runner.options, latest=True)
        snapshot = storage.rescale(newest, planned.job, buckets, planned.files, results)
    except BaseException:
        abandon(runner, table, planned.job, results)
        raise
    had, has = totals(planned.files), totals(file for one in results for file in one.files)
    return {
        "buckets_before": max(before),
        "buckets_after": buckets,
        **{f"{name}_before": had[name] for name in ("files", "bytes", "rows")},
        **{f"{name}_after": has[name] for name in ("files", "bytes", "rows")},
        "snapshot_id": followed(newest, snapshot),
    }


@replanned
def _planned(runner: TaskRunner, load: Load, buckets: int) -> tuple[Table, rescale.Rescale]:
    table = load()
    return table, rescale.plan_rescale(table, buckets, runner.parallelism)


def _take(table: Table, made: Any, results: list[CommitMessage]) -> None:
    """All tasks' files. Raises TableError once all have ended, if one failed."""
    failure: Exception | None = None
    for _, one in made:
        if isinstance(one, Exception):
            failure = failure or one
        else:
            results.append(one)
    if failure is not None:
        raise TableError(
            f"table {table.layout.name} was not rescaled, nothing has changed: {failure}"
        ) from failure
