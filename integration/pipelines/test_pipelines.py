"""docs/pipelines.md: Spark's own program runs the pipeline of that page on random events."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.pipelines.runs import HAS_FLOWS_IN_SQL, Event, Pipeline, blocks, plans, server
from integration.planning.plans import assert_ours
from tests import readers

__all__ = ["server"]


def random_events(draw: random.Random, first: int, count: int) -> list[Event]:
    """Each has a sequence of its own, in any order; some come twice."""
    sequences = draw.sample(range(first, first + count), count)
    events = [
        {
            "id": draw.randrange(6),
            "name": draw.choice([None, "ann", "bob"]),
            "city": draw.choice([None, "Oslo", "Rome"]),
            "op": draw.choice("UUUD"),
            "at": at,
        }
        for at in sequences
    ]
    return events + draw.sample(events, 3)


def expected(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """The last event of each key, unless it is a delete."""
    last: dict[int, Event] = {}
    for event in sorted(events, key=lambda one: one["at"]):
        last[event["id"]] = event
    rows = [last[key] for key in sorted(last) if last[key]["op"] != "D"]
    return [(row["id"], row["name"], row["city"]) for row in rows]


def counts(values: Sequence[str | None]) -> list[tuple[str, int]]:
    return [(city, values.count(city)) for city in ("Oslo", "Rome") if city in values]


def assert_looked_up(found: Sequence[str]) -> None:
    """AUTO CDC looks the keys of each batch up among the deleted ones, twice, and in the target. It
    scans neither table.
    """
    deleted, target = "__spark_autocdc_aux_state_customers(_in_sql)?", "customers(_in_sql)?"
    merges = [plan.split("\n\n") for plan in found if "MergeRows" in plan]
    of_target = 0
    for parts in merges:
        scans = [part for part in parts if re.search(r"^\(\d+\) BatchScan", part)]
        lookups = [part for part in parts if re.search(r"^\(\d+\) LookupJoin", part)]
        assert not re.search(rf"\b({deleted}|{target})\b", "".join(scans)), scans
        assert any(re.search(rf"\b{deleted}\b", part) for part in lookups), parts
        of_target += any(re.search(rf"\b{target}\b", part) for part in lookups)
    assert of_target * 2 == len(merges) > 0


def check(spark: SparkSession, events: Sequence[Event]) -> None:
    def rows(name: str, columns: str) -> list[tuple[Any, ...]]:
        frame = spark.sql(f"SELECT {columns} FROM keyfold.shop.{name} ORDER BY 1")
        return [tuple(row) for row in assert_ours(frame).collect()]

    customers = expected(events)
    assert rows("customers", "id, name, city") == customers
    if HAS_FLOWS_IN_SQL:
        assert rows("customers_in_sql", "id, name, city") == customers
    assert rows("customers_by_city", "*") == counts([row[2] for row in customers])
    assert rows("events_by_city", "*") == counts([event["city"] for event in events])


def test_the_pipeline_of_the_page(
    spark: SparkSession, server: str, warehouse: Path, tmp_path: Path, seed: int
) -> None:
    """Late and repeated events, deletes of keys with and without a row, and a run from scratch."""
    spark.sql("DROP NAMESPACE IF EXISTS keyfold.shop CASCADE")
    spark.sql("CREATE NAMESPACE keyfold.shop")
    draw = random.Random(f"pipeline {seed}")
    pipeline = Pipeline(tmp_path, server, "shop")
    pipeline.define("shop.py", blocks("python")[0])
    if HAS_FLOWS_IN_SQL:
        pipeline.define("customers.sql", blocks("sql")[0])
    events = random_events(draw, 100, 20)
    pipeline.add(events)
    pipeline.run()
    check(spark, events)
    late = [
        *random_events(draw, 60, 40),
        *random_events(draw, 120, 10),
        {"id": 99, "name": None, "city": None, "op": "D", "at": 500},
        {"id": 99, "name": "late", "city": "Oslo", "op": "U", "at": 400},
    ]
    pipeline.add(late)
    before = max(plans(spark))
    pipeline.run()
    assert_looked_up([plan for number, plan in plans(spark).items() if number > before])
    events += late
    check(spark, events)
    theirs = readers.read(warehouse, "shop.customers").select(["id", "name", "city"])
    assert sorted(tuple(row.values()) for row in theirs.to_pylist()) == expected(events)
    kept = spark.table("keyfold.shop.__spark_autocdc_aux_state_customers")
    assert 99 in [row.id for row in kept.collect()]
    pipeline.run("--full-refresh-all")
    check(spark, events)
