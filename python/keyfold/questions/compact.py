"""Questions of a compaction (driver side): plan it, commit steps, or abandon them.

The opaque `compaction` is the CompactionSpec that the executors read, plus the handle of the table
and the session's functions; a step's `results` are the CommitMessages of its tasks, in order.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.compact import planner
from keyfold.compact.partitions import chosen
from keyfold.compact.planner import Asked, PlannedStep
from keyfold.errors import ConflictError, TableError
from keyfold.files.value_text import partition_text
from keyfold.merge.plan import plan
from keyfold.questions import maintenance
from keyfold.questions.call_options import with_options
from keyfold.questions.serve import Questions, functions_for, replanned
from keyfold.storage.commits import commit
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.commits.outcomes import OUTCOMES, is_abandonable
from keyfold.storage.metadata.entries import Place, partition_values
from keyfold.storage.table import open_handle, open_newest
from keyfold.wire.codec import batch_from_text
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CommitMessage, CompactionSpec, Step, totals
from keyfold.write.job import Job

QUESTIONS = Questions()


@QUESTIONS.look
@replanned
def plan_compaction(question: Frame) -> dict[str, Any]:
    """The steps of a compaction, each with its tasks; `skipped` is the reason if there
    is no step. Steps with the same number in `commit` are committed together.

    `compaction` has: `strategy` auto (after a write), minor or full; `partitions`, `where`;
    `options` of the table for this call; `max_bytes` to read; the buckets a write `touched`; and
    `parallelism`, the number of tasks that run at a time.
    """
    asked = question["compaction"]
    table = open_newest(question["table"], question["catalog"]["options"])
    handle = table.handle
    table.check_rewritable()
    table = with_options(table, asked.get("options"))
    strategy = _strategy(table.layout, asked["strategy"])
    if strategy == planner.AUTO and table.options.write_only:
        return _skipped("the table is write-only")
    plan(table.layout, table.layout.arrow_schema.names)  # refuses here what this session lacks
    touched, most = asked.get("touched"), asked.get("max_bytes")
    if most is not None and most < 1:
        raise TableError(
            f"compaction of table {table.layout.name}: max_bytes is {most}; expected 1 or more"
        )
    partitions = chosen(table.layout, asked.get("partitions"), asked.get("where") or ())
    spec, steps = planner.plan(
        table,
        Asked(
            strategy,
            partitions,
            most,
            None if touched is None else frozenset(_place(*place) for place in touched),
            max(1, asked.get("parallelism") or os.cpu_count() or 1),
        ),
    )
    if not steps and partitions is not None and not table.live_files(partition_filter=partitions):
        return _skipped("no partition that holds rows is among those named")
    if not steps:
        within = "" if most is None else f" within {most} bytes"
        return _skipped(f"no bucket needs merging{within}")
    own = {"handle": handle, **functions_for(question, table.layout)}
    described = [
        _described(table.layout, step) | {"commit": number}
        for step, number in zip(steps, planner.commits(steps), strict=True)
    ]
    return {"compaction": spec.to_json() | own, "steps": described, "skipped": None}


def _skipped(reason: str) -> dict[str, Any]:
    return {"compaction": {}, "steps": [], "skipped": reason}


def _strategy(layout: TableLayout, text: str) -> str:
    if text.lower() not in planner.STRATEGIES:
        raise TableError(
            f"compaction of table {layout.name}: compact_strategy is '{text}'; "
            "expected 'full' or 'minor'"
        )
    return text.lower()


def _place(partition: str | None, bucket: int) -> Place:
    return partition_values(None if partition is None else batch_from_text(partition)), bucket


def _described(layout: TableLayout, planned: PlannedStep) -> dict[str, Any]:
    step = planned.step
    partition = partition_text(layout, partition_values(step.partition))
    where = f"{partition}/bucket-{step.bucket}" if partition else f"bucket-{step.bucket}"
    return {
        "step": step.to_json(),
        "description": f"compaction of {layout.name}, {where}: {planned.files} files, "
        f"{planned.bytes / (1 << 20):.1f} MiB to level {step.level}",
        "partition": partition,
        "bucket": step.bucket,
        "level": step.level,
        "files": planned.files,
        "bytes": planned.bytes,
        "rows": planned.rows,
        "tasks": [task.to_json() for task in planned.tasks],
    }


@QUESTIONS.plain
def commit_compaction(question: Frame) -> list[dict[str, Any]]:
    """Put the files that the tasks of `steps` wrote (`results` of each) in the place of those they
    read, in one snapshot, whose job is that of the first step. There is an answer for each step.

    `outcome` is committed, nothing or conflict. After a conflict nothing has changed in its bucket
    and the files are removed. `files`, `bytes` and `rows` are those of the files in place.
    """
    steps = [Step.from_json(step) for step in question["steps"]]
    results = [messages_of(of_step) for of_step in question["results"]]
    spec = CompactionSpec.from_json(question["compaction"])
    table = open_handle(
        question["compaction"]["handle"], question["catalog"]["options"], latest=True
    )
    try:
        snapshot, lost = commit.compact(table, list(map(_compaction, steps, results)))
    except BaseException as error:
        if OUTCOMES.give_up(steps[0].job):
            for messages in results:
                Job(spec.layout, messages).remove()
        if isinstance(error, ConflictError):
            return [_outcome("conflict", (), message=str(error))] * len(steps)
        raise
    if snapshot is not None:
        maintenance.after_commit(table)
    return [
        _settled(spec, messages, snapshot, lost.get(step.job))
        for step, messages in zip(steps, results, strict=True)
    ]


def _compaction(step: Step, messages: Sequence[CommitMessage]) -> Compaction:
    return Compaction(
        step.job,
        partition_values(step.partition),
        step.bucket,
        step.level,
        step.merged,
        step.upgraded,
        [replace(message, total_buckets=step.total_buckets) for message in messages],
    )


def _settled(
    spec: CompactionSpec,
    messages: Sequence[CommitMessage],
    snapshot: int | None,
    lost: ConflictError | None,
) -> dict[str, Any]:
    if lost is not None:
        Job(spec.layout, messages).remove()
        return _outcome("conflict", (), message=str(lost))
    return _outcome("nothing" if snapshot is None else "committed", messages, snapshot)


def _outcome(
    outcome: str,
    messages: Sequence[CommitMessage],
    snapshot: int | None = None,
    message: str | None = None,
) -> dict[str, Any]:
    files = (file for one in messages for file in one.files)
    return {"outcome": outcome, "message": message, "snapshot": snapshot} | totals(files)


@QUESTIONS.plain
def abandon_compaction(question: Frame) -> None:
    """Delete the files of tasks whose steps are not, and will not be, committed.

    With `step`, nothing is deleted if the snapshot of its job exists or may exist.
    """
    step, handle = question.get("step"), question["compaction"]["handle"]
    if step is not None:
        try:
            table = open_handle(handle, question["catalog"]["options"], latest=True)
        except ConflictError:
            return  # they went with the table
        if not is_abandonable(table, step["job"], handle["snapshot_id"]):
            return
    spec = CompactionSpec.from_json(question["compaction"])
    Job(spec.layout, messages_of(question["results"])).remove()


def messages_of(results: Sequence[Any]) -> list[CommitMessage]:
    """The messages of the tasks of a step."""
    return [CommitMessage.from_json(result) for result in results if result is not None]
