"""Compactions of tables in a temporary warehouse, in their parts."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from keyfold.questions.tasks import rewrite as executor
from keyfold.storage.table import Table
from keyfold.wire.partitions import Partition
from tests.compact import parts as driver
from tests.storage import tables

Json = dict[str, Any]


def sent(value: Any) -> Any:
    """What arrives of something that goes through JSON."""
    return json.loads(json.dumps(value))


def asked(
    found: Table, strategy: str = "full", touched: Iterable[Any] | None = None, **more: Any
) -> Json:
    """A `plan_steps` question; `touched` are (partition values, bucket)."""
    places = None
    if touched is not None:
        layout = found.layout
        places = [[Partition.of(layout, values).to_json(), bucket] for values, bucket in touched]
    return question(found, compaction={"strategy": strategy, "touched": places} | more)


def question(found: Table, **more: Any) -> Json:
    """A question about the newest snapshot of a table."""
    return sent({"table": tables.reload(found).handle, "catalog": {"options": {}}} | more)


def plan(found: Table, strategy: str = "full", **more: Any) -> Json:
    """The answer of `plan_steps`."""
    answer: Json = sent(driver.plan_steps(asked(found, strategy, **more)))
    return answer


def run(planned: Json, step: Json) -> list[Json]:
    """The answers of a step's tasks."""
    asked = ({"compaction": planned["compaction"], "task": [task]} for task in step["tasks"])
    return [sent(executor.compact(each))["done"][0] for each in asked]


def commit(found: Table, planned: Json, step: Json, done: list[Json]) -> Json:
    """The answer of `commit_compaction` to one step."""
    (answer,) = together(found, planned, [step], [done])
    return answer


def together(
    found: Table, planned: Json, steps: Sequence[Json], done: Sequence[list[Json]]
) -> list[Json]:
    """Its answers to several that are committed at once."""
    results = [[one["files"] for one in of_step] for of_step in done]
    told = {"compaction": planned["compaction"], "steps": [step["step"] for step in steps]}
    answers: list[Json] = sent(driver.commit_compaction(question(found, results=results, **told)))
    return answers


def compact(found: Table, strategy: str = "full", **more: Any) -> list[Json]:
    """Plan, run and commit; the outcome of each step."""
    planned = plan(found, strategy, **more)
    return [commit(found, planned, step, run(planned, step)) for step in planned["steps"]]


def levels(found: Table) -> dict[int, int]:
    """Number of files by level."""
    counts: dict[int, int] = {}
    for file in tables.reload(found).live_files():
        counts[file.level] = counts.get(file.level, 0) + 1
    return counts
