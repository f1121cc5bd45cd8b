"""A compaction as a job: planned, its tasks run, its steps committed as they end, and planned once
more where another job was in the way. What ends it early takes nothing back: finished steps are
committed, the files of others removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from keyfold.compact import compaction_plan, jobs, postponed
from keyfold.compact.compaction_plan import PlannedStep
from keyfold.compact.jobs import Outcome, PlannedJob
from keyfold.compact.task_runner import TaskRunner, counted
from keyfold.read.plan_ranges import PartitionRange, whole_ranges
from keyfold.storage.commits.outcomes import is_abandonable
from keyfold.storage.metadata.entries import Place
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle
from keyfold.stores.refusals import explained
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import POSTPONED
from keyfold.wire.specs import CommitMessage
from keyfold.write.job import Job

ROUNDS = 5  # attempts at steps that other jobs get in the way of
CONFLICT = "conflict"
Row = dict[str, Any]
Load = Callable[[], Table]
Plan = Callable[[Table], PlannedJob]


def compacted(
    runner: TaskRunner,
    load: Load,
    strategy: str,
    *,
    title: str = "compact",
    rounds: int = ROUNDS,
    dry_run: bool = False,
    **asked: Any,
) -> list[Row]:
    """Compact the table that `load` gives as it is now; a row for each step, or one that says why
    there is none. `asked` is as for `jobs.plan_job`. Rows without a bucket get theirs first, but
    not after a write. A whole table of many files goes by ranges of partitions, one after another:
    the plan of each is as large as its files are many.
    """
    plan = partial(jobs.plan_job, strategy=strategy, parallelism=runner.parallelism, **asked)
    moved: list[Row] = []
    loaded = [load()]  # once for most tables, whose rows have buckets
    if strategy != compaction_plan.AUTO and loaded[0].options.bucket == POSTPONED:
        _planned(load, plan)  # says what is wrong with the call before rows are moved
        moves = partial(postponed.plan_moves, **asked)
        moved = _rows(runner, load, moves, f"{title}: buckets for rows of", rounds, dry_run)
        moved = [one for one in moved if one != skipped(None)]
        loaded.clear()
        if (most := asked.get("max_bytes")) is not None:
            left = most - sum(one["bytes_before"] for one in moved)
            if left < 1:
                return moved
            plan = partial(plan, max_bytes=left)

    def newest() -> Table:
        return loaded.pop() if loaded else load()

    found: list[Row] = []
    for within in _parts(loaded, strategy, asked):
        found += _rows(runner, newest, partial(plan, within=within), title, rounds, dry_run)
    if len(found) > 1:  # some had nothing to do
        found = [one for one in found if one["status"] != "skipped"] or found[:1]
    return [*moved, *(one for one in found if not moved or one["status"] != "skipped")]


def _parts(
    loaded: Sequence[Table], strategy: str, asked: Mapping[str, Any]
) -> Sequence[PartitionRange | None]:
    """The ranges of partitions that a compaction goes by; None: all at once."""
    is_whole = not any(value for name, value in asked.items() if name != "options")
    if strategy.lower() != compaction_plan.FULL or not is_whole or not loaded:
        return [None]
    found = whole_ranges(loaded[0])
    return found if len(found) > 1 else [None]


def _rows(
    runner: TaskRunner, load: Load, plan: Plan, title: str, rounds: int, dry_run: bool
) -> list[Row]:
    table, planned = _planned(load, plan)
    if not planned.steps:
        return [skipped(planned.skipped)]
    if dry_run:
        return [row(planned.spec.layout, step, {"outcome": "planned"}) for step in planned.steps]
    found = _Run(runner, table, planned, title).outcomes()
    for _ in range(1, rounds):
        lost = {_place(step) for step, outcome in found if outcome["outcome"] == CONFLICT}
        if not lost:
            break
        table, planned = _planned(load, plan)
        steps = [step for step in planned.steps if _place(step) in lost]
        kept = [(step, outcome) for step, outcome in found if outcome["outcome"] != CONFLICT]
        again = _Run(runner, table, replace(planned, steps=steps), f"{title}, once more,")
        found = [*kept, *again.outcomes()]
    return [row(table.layout, step, outcome) for step, outcome in found]


def skipped(reason: str | None) -> Row:
    """The row of a compaction that has nothing to do."""
    return {"status": "skipped", "message": reason}


def row(layout: TableLayout, planned: PlannedStep, outcome: Outcome) -> Row:
    """A step and what became of it. Files that changed their level as they are stay in place."""
    before = jobs.described(layout, planned)
    moved = planned.moved if outcome["outcome"] == "committed" else {}
    made = {name: outcome.get(name) for name in ("files", "bytes", "rows")}
    after = {name: n if n is None else n + moved.get(name, 0) for name, n in made.items()}
    return {
        **{name: before[name] for name in ("partition", "bucket", "level")},
        **{f"{name}_before": before[name] for name in after},
        **{f"{name}_after": n for name, n in after.items()},
        "snapshot_id": outcome.get("snapshot"),
        "status": outcome["outcome"],
        "message": outcome.get("message"),
    }


@replanned
def _planned(load: Load, plan: Plan) -> tuple[Table, PlannedJob]:
    table = load()
    return table, plan(table)


def _place(planned: PlannedStep) -> Place:
    return planned.step.partition.values, planned.step.bucket


class _Run:
    """One attempt at steps. Those of one commit are committed when all their tasks have ended."""

    def __init__(self, runner: TaskRunner, table: Table, planned: PlannedJob, title: str) -> None:
        self._runner, self._table, self._title = runner, table, title
        self._spec, self._steps = planned.spec, list(planned.steps)
        self._numbers = list(compaction_plan.commits(self._steps))
        self._unfinished = Counter(self._numbers)
        self._running = [len(step.tasks) for step in self._steps]
        self._results: list[dict[int, CommitMessage]] = [{} for _ in self._steps]
        self._errors: dict[int, Exception] = {}
        self._waiting: dict[int, None] = {}  # steps whose tasks have ended
        self._jobs = [step.step.job for step in self._steps]  # whose snapshot may hold the files
        self._outcomes: dict[int, Outcome] = {}

    def outcomes(self) -> list[tuple[PlannedStep, Outcome]]:
        """Each step with what became of it."""
        tasks = [(at, task) for at, step in enumerate(self._steps) for task in step.tasks]
        total = sum(step.bytes for step in self._steps)
        title = (
            f"keyfold: {self._title} {self._spec.layout.name}: "
            f"{counted(len(self._steps), 'step')}, {counted(len(tasks), 'task')}, {total} bytes"
        )
        self._runner.note(title)
        try:
            for at in [at for at, count in enumerate(self._running) if not count]:
                self._ended(at)
            for place, made in self._runner.made(title, self._spec, [task for _, task in tasks]):
                self._take(tasks[place][0], place, made)
        except BaseException:
            with suppress(Exception):
                self._settle(list(self._waiting))
            self._abandon(range(len(self._steps)))
            raise
        return [(self._steps[at], found) for at, found in sorted(self._outcomes.items())]

    def _take(self, at: int, place: int, made: CommitMessage | Exception) -> None:
        if isinstance(made, Exception):
            self._errors.setdefault(at, made)
        else:
            self._results[at][place] = made
        self._running[at] -= 1
        if not self._running[at]:
            self._ended(at)

    def _ended(self, at: int) -> None:
        """All tasks of a step have ended."""
        if at in self._errors:
            self._abandon([at])
            self._note(at, _failed(self._message(self._errors[at])))
        else:
            self._waiting[at] = None
        number = self._numbers[at]
        self._unfinished[number] -= 1
        if not self._unfinished[number]:
            self._settle([at for at in self._waiting if self._numbers[at] == number])

    def _settle(self, steps: Sequence[int]) -> None:
        """Commit steps together, or remove their files."""
        if not steps:
            return
        steps = sorted(steps)
        for at in steps:
            del self._waiting[at]
            self._jobs[at] = self._jobs[steps[0]]
        messages = [[made for _, made in sorted(self._results[at].items())] for at in steps]
        try:
            newest = open_handle(self._table.handle, self._runner.options, latest=True)
            own = [self._steps[at].step for at in steps]
            outcomes = jobs.commit_steps(newest, self._spec, own, messages)
        except Exception as error:
            self._abandon(steps)
            outcomes = [_failed(self._message(error))] * len(steps)
        for at in steps:
            self._results[at] = {}
        for at, outcome in zip(steps, outcomes, strict=True):
            self._note(at, outcome)

    def _note(self, at: int, outcome: Outcome) -> None:
        self._outcomes[at] = outcome
        status, why = outcome["outcome"], outcome.get("message")
        doing = jobs.described(self._spec.layout, self._steps[at])["description"]
        counts = f"{len(self._outcomes)} of {len(self._steps)} steps"
        line = f"{self._spec.layout.name}: {counts}: {doing} {status}{f': {why}' if why else ''}"
        self._runner.note(line, is_bad=status in (CONFLICT, "failed"))

    def _message(self, error: Exception) -> str:
        doing = f"compaction of table {self._spec.layout.name}"
        return str(explained(error, doing) if isinstance(error, OSError) else error)

    def _abandon(self, steps: Iterable[int]) -> None:
        """Delete what tasks wrote, but for what a snapshot of their job holds, or may hold."""
        for at in steps:
            messages, self._results[at] = list(self._results[at].values()), {}
            abandon(self._runner, self._table, self._jobs[at], messages)


def abandon(runner: TaskRunner, table: Table, job: str, messages: Sequence[CommitMessage]) -> None:
    """Delete the files of a job that is given up, unless it has made a snapshot, or may have."""
    try:
        by = "" if table.known is None else table.known.commit_user
        if messages and is_abandonable(table, job, table.snapshot_id, by):
            Job(table.layout, messages).remove()
    except Exception as error:
        runner.note(
            f"{table.layout.name}: files of a job that was given up are left where they are, for "
            f"CALL sys.remove_orphan_files: {error}",
            is_bad=True,
        )


def _failed(message: str) -> Outcome:
    return {"outcome": "failed", "message": message}
