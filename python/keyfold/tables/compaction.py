"""Compactions and rescales in this process: tasks run in threads, steps commit as they end."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.compact import compaction_plan, jobs, rescale
from keyfold.compact.jobs import Outcome, PlannedJob
from keyfold.compact.rewrite import rewrite
from keyfold.options.changelogs import is_awaited
from keyfold.resources.threads import done, raised
from keyfold.storage.commits import rescale as storage
from keyfold.storage.commits.outcomes import is_abandonable
from keyfold.storage.maintenance.due import followed
from keyfold.storage.metadata.entries import Place
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle, open_newest
from keyfold.stores.refusals import explained
from keyfold.tables.rows.optional import progress
from keyfold.tables.session import Session
from keyfold.wire.specs import CommitMessage, Task, totals
from keyfold.write.job import Job

LOG = logging.getLogger("keyfold")
_TRIES = 10  # of a compaction that a changelog awaits
COLUMNS = pa.schema(
    [
        pa.field("partition", pa.utf8()),
        pa.field("bucket", pa.int32()),
        pa.field("level", pa.int32()),
        *(pa.field(f"{what}_{when}", pa.int64()) for what in ("files", "bytes", "rows")
          for when in ("before", "after")),
        pa.field("snapshot_id", pa.int64()),
        pa.field("status", pa.utf8()),
        pa.field("message", pa.utf8()),
    ]
)  # fmt: skip


class _AtWork:
    """The tables that compact after a write. If writes of one table end at once, one compacts and
    the others leave their buckets to the next: two would rewrite the same files. A write whose
    changes a changelog awaits leaves nothing, and takes its turn.
    """

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all work."""
        self._lock = threading.Condition()
        self._waiting: dict[str, frozenset[Place]] = {}
        self._running: set[str] = set()

    def begin(
        self, table: str, touched: frozenset[Place], *, awaited: bool
    ) -> frozenset[Place] | None:
        """The buckets to compact; None while another thread is at work."""
        with self._lock:
            self._lock.wait_for(lambda: not awaited or table not in self._running)
            every = self._waiting.pop(table, frozenset()) | touched
            if table in self._running:
                self._waiting[table] = every
                return None
            self._running.add(table)
            return every

    def end(self, table: str) -> None:
        """Let another thread begin."""
        with self._lock:
            self._running.discard(table)
            self._lock.notify_all()


_AT_WORK = _AtWork()
os.register_at_fork(after_in_child=_AT_WORK.begin_anew)  # a child has no thread of its parent


def after_write(session: Session, table: Table, messages: Iterable[CommitMessage]) -> None:
    """Compact the buckets of a write if it is due. A failure is only logged: the rows are written,
    and the next write tries again.
    """
    if table.options.write_only:
        return
    written = frozenset((m.partition.values, m.bucket) for m in messages)
    name = table.layout.location
    awaited = is_awaited(table.options)
    touched = _AT_WORK.begin(name, written, awaited=awaited)
    if touched is None:
        return
    try:
        newest = partial(open_newest, table.handle, session.options)
        for _ in range(_TRIES if awaited else 1):
            steps = compacted(session, newest, "auto", touched=touched)
            if all(step["status"] != "conflict" for step in steps):
                return
    except Exception:
        LOG.warning("%s: the compaction after a write failed", table.layout.name, exc_info=True)
    finally:
        _AT_WORK.end(name)


def compacted(session: Session, load: Any, strategy: str, **asked: Any) -> list[dict[str, Any]]:
    """Compact the table that `load` gives; a row for each step, as COLUMNS names them. `asked` is
    as for `compact.jobs.plan_job`.
    """
    with session.working():
        table, planned = _planned(load, strategy, session.threads, asked)
        return list(_Run(session, table, planned).rows()) if planned.steps else []


@replanned
def _planned(
    load: Any, strategy: str, threads: int, asked: Mapping[str, Any]
) -> tuple[Table, PlannedJob]:
    table = load()
    return table, jobs.plan_job(table, strategy, parallelism=threads, **asked)


class _Run:
    """One compaction. Steps of one commit are committed once all their tasks have ended."""

    def __init__(self, session: Session, table: Table, planned: PlannedJob) -> None:
        self._session, self._table = session, table
        self._spec, self._steps = planned.spec, list(planned.steps)
        self._numbers = list(compaction_plan.commits(self._steps))
        self._results: list[dict[int, CommitMessage]] = [{} for _ in self._steps]
        self._errors: dict[int, Exception] = {}

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each step."""
        tasks = [(at, task) for at, step in enumerate(self._steps) for task in step.tasks]
        try:
            for place, made in _made(self._session, self._spec, [task for _, task in tasks]):
                at = tasks[place][0]
                if isinstance(made, Exception):
                    self._errors.setdefault(at, made)
                else:
                    self._results[at][place] = made
                number = self._numbers[at]
                if self._is_done(number):
                    yield from self._committed(number)
        except BaseException:
            self._abandon(range(len(self._steps)))
            raise

    def _is_done(self, number: int) -> bool:
        return all(
            len(self._results[at]) == len(step.tasks) or at in self._errors
            for at, step in enumerate(self._steps)
            if self._numbers[at] == number
        )

    def _committed(self, number: int) -> Iterator[dict[str, Any]]:
        every = [at for at, own in enumerate(self._numbers) if own == number]
        good = [at for at in every if at not in self._errors]
        for at in sorted({*every} - {*good}):
            self._abandon([at])
            yield self._row(at, {"outcome": "failed", "message": self._message(self._errors[at])})
        if not good:
            return
        messages = [[made for _, made in sorted(self._results[at].items())] for at in good]
        newest = open_handle(self._table.handle, self._session.options, latest=True)
        steps = [self._steps[at].step for at in good]
        outcomes = jobs.commit_steps(newest, self._spec, steps, messages)
        for at, outcome in zip(good, outcomes, strict=True):
            self._results[at] = {}
            yield self._row(at, outcome)

    def _row(self, at: int, outcome: Outcome) -> dict[str, Any]:
        before = jobs.described(self._spec.layout, self._steps[at])
        return {
            "partition": before["partition"],
            "bucket": before["bucket"],
            "level": before["level"],
            **{f"{name}_before": before[name] for name in ("files", "bytes", "rows")},
            **{f"{name}_after": outcome.get(name) for name in ("files", "bytes", "rows")},
            "snapshot_id": outcome.get("snapshot"),
            "status": outcome["outcome"],
            "message": outcome.get("message"),
        }

    def _message(self, error: Exception) -> str:
        doing = f"compaction of table {self._spec.layout.name}"
        return str(explained(error, doing) if isinstance(error, OSError) else error)

    def _abandon(self, places: Iterable[int]) -> None:
        for at in places:
            messages = list(self._results[at].values())
            job = self._steps[at].step.job
            if messages and is_abandonable(self._table, job, self._table.snapshot_id):
                Job(self._spec.layout, messages).remove()
            self._results[at] = {}


def _made(
    session: Session, spec: Any, tasks: Sequence[Task]
) -> Iterator[tuple[int, CommitMessage | Exception]]:
    """The files of each task, or its error, as they end."""
    threads = min(session.threads, len(tasks)) or 1
    working = partial(session.working, threads)
    found = done([partial(rewrite, spec, task) for task in tasks], threads, working)
    return progress(found, len(tasks), spec.layout.name)


def rescaled(session: Session, load: Any, buckets: int) -> dict[str, Any]:
    """Give the table another number of buckets in one commit. Raises ConflictError if another job
    committed meanwhile; then nothing has changed.
    """
    with session.working():
        table, planned = _planned_rescale(load, buckets, session.threads)
        results: list[CommitMessage] = []
        try:
            for made in raised(_made(session, planned.spec, planned.tasks)):
                results.append(made)
            newest = open_handle(table.handle, session.options, latest=True)
            snapshot = storage.rescale(newest, planned.job, buckets, planned.files, results)
        except BaseException:
            if is_abandonable(table, planned.job, table.snapshot_id):
                Job(planned.spec.layout, results).remove()
            raise
        followed(newest, snapshot)
    return {"snapshot": snapshot, "buckets": buckets} | totals(
        file for one in results for file in one.files
    )


@replanned
def _planned_rescale(load: Any, buckets: int, threads: int) -> tuple[Table, rescale.Rescale]:
    table = load()
    return table, rescale.plan(table, buckets, threads)
