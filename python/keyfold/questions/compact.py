"""Questions of a compaction (driver side): plan it, commit steps, or abandon them; and those of
`CALL sys.rescale`, whose tasks are a compaction's.

The opaque `compaction` is the CompactionSpec that the executors read, plus the handle of the table
and the session's functions; a step's `results` are the CommitMessages of its tasks, in order.
"""

from collections.abc import Sequence
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.compact import compaction_plan, jobs, rescale
from keyfold.errors import ConflictError, SnapshotExpiredError
from keyfold.options.parsing import parse
from keyfold.questions.serve import Questions, functions_for
from keyfold.storage.commits import rescale as storage
from keyfold.storage.commits.outcomes import is_abandonable
from keyfold.storage.maintenance.due import followed
from keyfold.storage.metadata.entries import LiveFile, Place
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle, open_newest
from keyfold.wire.partitions import Partition
from keyfold.wire.predicates import decoded
from keyfold.wire.specs import CommitMessage, CompactionSpec, CompactionStep, totals
from keyfold.write.job import Job

QUESTIONS = Questions()


@QUESTIONS.look
@replanned
def plan_compaction(question: Frame) -> dict[str, Any]:
    """The steps of a compaction, each with its tasks; `skipped` is the reason if there are none.
    Steps with the same number in `commit` are committed together.

    `compaction` has: `strategy` auto (after a write), minor or full; `partitions`, `where`;
    `options` of the table for this call; `max_bytes` to read; the buckets a write `touched`; and
    `parallelism`, the number of tasks that run at a time.
    """
    asked = question["compaction"]
    table = open_newest(question["table"], question["catalog"]["options"])
    touched = asked.get("touched")
    planned = jobs.plan_job(
        table,
        asked["strategy"],
        options=asked.get("options"),
        partitions=asked.get("partitions"),
        where=decoded(asked.get("where")),
        max_bytes=asked.get("max_bytes"),
        touched=None if touched is None else frozenset(_place(*place) for place in touched),
        parallelism=asked.get("parallelism"),
    )
    if not planned.steps:
        return {"compaction": {}, "steps": [], "skipped": planned.skipped}
    layout = planned.spec.layout
    own = {"handle": table.handle, **functions_for(question, layout)}
    described = [
        jobs.described(layout, step)
        | {
            "step": step.step.to_json(),
            "tasks": [task.to_json() for task in step.tasks],
            "commit": number,
        }
        for step, number in zip(planned.steps, compaction_plan.commits(planned.steps), strict=True)
    ]
    return {"compaction": planned.spec.to_json() | own, "steps": described, "skipped": None}


def _place(partition: Any, bucket: int) -> Place:
    return Partition.from_json(partition).values, bucket


@QUESTIONS.plain
def commit_compaction(question: Frame) -> list[jobs.Outcome]:
    """Put the files that the tasks of `steps` wrote (`results` of each) in the place of those they
    read, in one snapshot. There is an answer for each step (`compact.jobs.commit_steps`).
    """
    table = open_handle(
        question["compaction"]["handle"], question["catalog"]["options"], latest=True
    )
    return jobs.commit_steps(
        table,
        CompactionSpec.from_json(question["compaction"]),
        [CompactionStep.from_json(step) for step in question["steps"]],
        [messages_of(of_step) for of_step in question["results"]],
    )


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


@QUESTIONS.look
@replanned
def plan_rescale(question: Frame) -> dict[str, Any]:
    """The plan that gives the table `buckets` buckets; `parallelism` tasks run at a time."""
    table = open_newest(question["table"], question["catalog"]["options"])
    layout, buckets = table.layout, question["buckets"]
    found = rescale.plan(table, buckets, question["parallelism"])
    own = {"handle": table.handle, **functions_for(question, layout)}
    before = {file.total_buckets for file in found.files} or {parse(layout).bucket}
    return {
        "compaction": found.spec.to_json() | own,
        "step": {"job": found.job, "buckets": buckets},
        "tasks": [task.to_json() for task in found.tasks],
        "buckets": max(before),
    } | totals(found.files)


@QUESTIONS.plain
def commit_rescale(question: Frame) -> dict[str, Any]:
    """Put the files of all tasks in the place of those they were made of, and the number of buckets
    in the schema. Raises ConflictError if another job committed to the table meanwhile. Then
    nothing has changed and the files are removed.
    """
    step, planned = question["step"], question["compaction"]
    messages = messages_of(question["results"])
    try:
        table = open_handle(planned["handle"], question["catalog"]["options"], latest=True)
        snapshot = storage.rescale(
            table, step["job"], step["buckets"], _planned(question, step["buckets"]), messages
        )
    except BaseException:
        abandon_compaction(question)
        raise
    return {"snapshot": followed(table, snapshot)} | totals(
        file for one in messages for file in one.files
    )


def _planned(question: Frame, buckets: int) -> tuple[LiveFile, ...]:
    """The files that the tasks read."""
    handle = question["compaction"]["handle"]
    table: Table = open_handle(handle, question["catalog"]["options"])
    try:
        return rescale.files_to_rescale(table, buckets)
    except SnapshotExpiredError as error:
        raise ConflictError(
            f"table {table.layout.name} was not rescaled: other jobs committed meanwhile, and the "
            f"snapshot it was planned on, {table.snapshot_id}, has expired; run it again"
        ) from error
