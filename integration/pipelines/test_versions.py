"""docs/pipelines.md, SCD type 2: thousands of events that come late, twice and out of order, as
a slow model has them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.pipelines.runs import (
    HAS_FLOWS_IN_SQL,
    Event,
    Pipeline,
    blocks,
    nodes,
    plans,
    server,
)
from integration.planning.plans import assert_ours
from tests import readers

__all__ = ["server"]
pytestmark = pytest.mark.skipif(not HAS_FLOWS_IN_SQL, reason="Spark 4.2 has no SCD type 2")

EVENTS = int(os.environ.get("KEYFOLD_EVENTS", "2000"))
KEYS = EVENTS // 20
SOURCE = """
from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()
EVENTS = str(Path("events").resolve())


@dp.temporary_view
def customer_events():
    columns = "id INT, name STRING, city STRING, op STRING, at BIGINT"
    return spark.readStream.schema(columns).json(EVENTS)
"""
Version = tuple[Any, ...]  # id, name, city, __START_AT, __END_AT


def by_start(version: Version) -> tuple[int, int]:
    return version[0], version[3]


def random_events(draw: random.Random, count: int = EVENTS, keys: int = KEYS) -> list[Event]:
    """Each has a sequence of its own; a tenth come twice; most are near their place, some far."""
    events = [
        {
            "id": draw.randrange(keys),
            "name": draw.choice([None, "ann", "bob"]),
            "city": draw.choice([None, "Oslo", "Rome"]),
            "op": draw.choice("UUUUUD"),
            "at": at,
        }
        for at in range(count * 9 // 10)
    ]
    events += draw.sample(events, count - len(events))
    late = [draw.expovariate(5 / count) if draw.random() < 0.3 else 0 for _ in events]
    order = sorted(range(len(events)), key=lambda one: events[one]["at"] + late[one])
    return [events[one] for one in order]


def versions(events: Sequence[Event], tracked: Sequence[str]) -> list[Version]:
    """For each key its runs of events that agree in the tracked columns, with the values of the
    last; a delete, or the next run, ends one.
    """
    of_keys: dict[int, dict[int, Event]] = {}
    for event in events:
        of_keys.setdefault(event["id"], {})[event["at"]] = event
    found: list[Version] = []
    for key in of_keys:
        run: list[Event] = []
        for at in [*sorted(of_keys[key]), None]:
            event = None if at is None else of_keys[key][at]
            goes_on = event is not None and event["op"] != "D"
            if run and not (goes_on and all(run[-1][name] == event[name] for name in tracked)):
                found.append((key, run[-1]["name"], run[-1]["city"], run[0]["at"], at))
                run = []
            if goes_on:
                run.append(event)
    return sorted(found, key=by_start)


def rows(spark: SparkSession, table: str) -> list[Version]:
    columns = "id, name, city, __START_AT, __END_AT"
    frame = spark.sql(f"SELECT {columns} FROM keyfold.shop2.{table}")
    return sorted((tuple(row) for row in assert_ours(frame).collect()), key=by_start)


def assert_looked_up(found: Sequence[tuple[str, dict[str, str]]], few: int) -> None:
    """A batch reads few rows of the target, each time that it is in a plan: the versions of its own
    keys. Spark scans the table of what versions hide, for rows that it may remove from it.
    """
    of_target = [(text, one) for text, one in found if "shop2.customer_moves[" in text]
    assert [text for text, _ in of_target if not text.startswith("LookupJoin")] == []
    assert len(of_target) >= 2
    for _, one in of_target:
        assert int(one["number of output rows"].replace(",", "")) <= few


def test_versions(
    spark: SparkSession, server: str, warehouse: Path, tmp_path: Path, seed: int
) -> None:
    spark.sql("DROP NAMESPACE IF EXISTS keyfold.shop2 CASCADE")
    spark.sql("CREATE NAMESPACE keyfold.shop2")
    events = random_events(random.Random(f"versions {seed}"))
    pipeline = Pipeline(tmp_path, server, "shop2")
    pipeline.define("events.py", SOURCE)
    pipeline.define("versions.py", blocks("python")[1])
    pipeline.define("moves.sql", blocks("sql")[1])
    half = EVENTS // 2
    pipeline.add(events[:half])
    pipeline.run()
    assert rows(spark, "customer_versions") == versions(events[:half], ["name", "city"])
    assert rows(spark, "customer_moves") == versions(events[:half], ["city"])
    pipeline.drop("versions.py")  # one flow is enough for what comes late
    pipeline.add(events[half:])
    pipeline.run()
    moves = versions(events, ["city"])
    assert rows(spark, "customer_moves") == moves
    before = max(plans(spark))
    few = [
        {"id": key, "name": "eve", "city": "Bern", "op": "U", "at": EVENTS // 3} for key in (7, 8)
    ]
    pipeline.add(few)
    pipeline.run()
    of_batch = nodes(spark, before)
    moves = versions([*events, *few], ["city"])
    assert rows(spark, "customer_moves") == moves
    assert_looked_up(of_batch, sum(move[0] in (7, 8) for move in moves) + 4)
    assert readers.read(warehouse, "shop2.customer_moves").num_rows == len(moves)
