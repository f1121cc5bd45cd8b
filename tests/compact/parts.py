"""A compaction and a rescale in parts, so that others may commit between them: planned, run by a
test, then committed or given up. Parts are JSON.
"""

from collections.abc import Sequence
from typing import Any

from keyfold.compact import compaction_plan, jobs, rescale
from keyfold.compact.jobs import Outcome
from keyfold.compact.running_job import abandon
from keyfold.options import provided
from keyfold.options.parsing import parse
from keyfold.storage.commits import rescale as storage
from keyfold.storage.maintenance.due import followed
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle, open_newest
from keyfold.user_functions.sources import Sources
from keyfold.wire.partitions import Partition
from keyfold.wire.predicates import decoded
from keyfold.wire.specs import CommitMessage, CompactionSpec, CompactionStep, totals
from tests.procedures.called import Caller

Json = dict[str, Any]
_PLANNED: dict[str, tuple[LiveFile, ...]] = {}  # the files that each rescale reads


@replanned
def plan_steps(asked: Json) -> Json:
    """The steps of a compaction, each with its tasks."""
    options = dict(asked["compaction"])
    touched = options.pop("touched", None)
    options["where"] = decoded(options.get("where"))
    if touched is not None:
        touched = frozenset((Partition.from_json(one).values, bucket) for one, bucket in touched)
    options["touched"] = touched
    code = asked.get("code")
    with provided.by(Sources.from_json(code)):
        table = _newest(asked)
        planned = jobs.plan_job(table, options.pop("strategy"), **options)
    if not planned.steps:
        return {"compaction": {}, "steps": [], "skipped": planned.skipped}
    numbers = compaction_plan.commits(planned.steps)
    steps = [
        jobs.described(planned.spec.layout, step)
        | {
            "step": step.step.to_json(),
            "tasks": [task.to_json() for task in step.tasks],
            "commit": number,
        }
        for step, number in zip(planned.steps, numbers, strict=True)
    ]
    own = {"handle": table.handle, "code": code}
    return {"compaction": planned.spec.to_json() | own, "steps": steps, "skipped": None}


def commit_compaction(asked: Json) -> list[Outcome]:
    """An answer for each of some steps, which are committed together."""
    return jobs.commit_steps(
        _latest(asked),
        CompactionSpec.from_json(asked["compaction"]),
        [CompactionStep.from_json(step) for step in asked["steps"]],
        [_messages(of_step) for of_step in asked["results"]],
    )


def abandon_compaction(asked: Json) -> None:
    """Give up a step, or a rescale."""
    table = open_handle(asked["compaction"]["handle"], asked["catalog"]["options"])
    abandon(Caller(), table, asked["step"]["job"], _messages(asked["results"]))


@replanned
def plan_rescale(asked: Json) -> Json:
    """The tasks of a rescale."""
    table = _newest(asked)
    found = rescale.plan_rescale(table, asked["buckets"], asked["parallelism"])
    _PLANNED[found.job] = found.files
    before = {file.total_buckets for file in found.files} or {parse(table.layout).bucket}
    return {
        "compaction": found.spec.to_json() | {"handle": table.handle},
        "step": {"job": found.job, "buckets": asked["buckets"]},
        "tasks": [task.to_json() for task in found.tasks],
        "buckets": max(before),
    } | totals(found.files)


def commit_rescale(asked: Json) -> Json:
    """Its one commit. Raises ConflictError if others committed meanwhile."""
    step, messages = asked["step"], _messages(asked["results"])
    try:
        table, files = _latest(asked), _PLANNED[step["job"]]
        snapshot = storage.rescale(table, step["job"], step["buckets"], files, messages)
    except BaseException:
        abandon_compaction(asked)
        raise
    made = (file for one in messages for file in one.files)
    return {"snapshot": followed(table, snapshot)} | totals(made)


def _newest(asked: Json) -> Table:
    return open_newest(asked["table"], asked["catalog"]["options"])


def _latest(asked: Json) -> Table:
    return open_handle(asked["compaction"]["handle"], asked["catalog"]["options"], latest=True)


def _messages(results: Sequence[Any]) -> list[CommitMessage]:
    return [CommitMessage.from_json(result) for result in results if result is not None]
