"""What batches of SCD type 2 cost by their size and by the table's, on the newest Spark:

    build/spark/bin/python -m integration.pipelines.small_batches [--events 20000 200000]

A pipeline keeps versions of random events; then later events come in batches. Seconds are those of
a batch's statements in Spark, from the first one's start to the last one's end. Rows are those that
look-ups find, in the target and in the table of what versions hide, and those that scans of either
give: of the second one, Spark's MERGE wants all.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from integration import sessions
from integration.pipelines.runs import Event, Pipeline, blocks, connect_server, nodes, plans
from integration.pipelines.test_versions import SOURCE, random_events

NAMESPACE, TABLE = "shop2", "customer_moves"
EVENTS_OF_KEY = 20
BATCHES = (10, 10, 100, 1_000, 10_000)  # the first one compiles what the others run


def main() -> None:
    """Print a line for each batch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[20_000, 200_000])
    sizes: list[int] = parser.parse_args().events
    with tempfile.TemporaryDirectory(prefix="batches-", dir=os.environ.get("TMPDIR")) as name:
        spark = sessions.start(Path(name), **sessions.TIMED)
        print("| events before | versions | batch | seconds | look-ups | rows found | scanned |")
        print("|---:|---:|---:|---:|---:|---:|---:|")
        with connect_server(spark) as server:
            for size in sizes:
                for line in measured(spark, server, Path(name) / f"{size}", size):
                    print(line, flush=True)
        spark.stop()


def measured(spark: SparkSession, server: str, folder: Path, size: int) -> Iterator[str]:
    """A line of the table for each batch after so many events."""
    spark.sql(f"DROP NAMESPACE IF EXISTS keyfold.{NAMESPACE} CASCADE")
    spark.sql(f"CREATE NAMESPACE keyfold.{NAMESPACE}")
    folder.mkdir()
    pipeline = Pipeline(folder, server, NAMESPACE)
    pipeline.define("events.py", SOURCE)
    pipeline.define("moves.sql", blocks("sql")[1])
    draw, keys = random.Random(f"{size}"), size // EVENTS_OF_KEY
    pipeline.add(random_events(draw, size, keys))
    pipeline.run()
    at = size
    for batch in BATCHES:
        versions, before = spark.table(f"keyfold.{NAMESPACE}.{TABLE}").count(), max(plans(spark))
        pipeline.add([event(draw.randrange(keys), at + number) for number in range(batch)])
        pipeline.run()
        at += batch
        read = [(text, rows(one)) for text, one in nodes(spark, before) if TABLE in text]
        found = [count for text, count in read if text.startswith("LookupJoin")]
        scanned = sum(count for text, count in read if text.startswith("BatchScan"))
        seconds = taken(spark, before)
        looks = f"{len(found)} | {sum(found):,} | {scanned:,}"
        yield f"| {size:,} | {versions:,} | {batch:,} | {seconds:.2f} | {looks} |"


def rows(figures: dict[str, str]) -> int:
    """Those that a node of a plan gave; 0 if it never ran."""
    return int(figures.get("number of output rows", "").replace(",", "") or 0)


def event(key: int, at: int) -> Event:
    """One that makes a new version of most keys."""
    return {"id": key, "name": "eve", "city": "Bern", "op": "U", "at": at}


def taken(spark: SparkSession, after: int) -> float:
    """From the start of the first of the later statements to the end of the last."""
    found = spark._jsparkSession.sharedState().statusStore().executionsList()
    every = [found.apply(place) for place in range(found.size())]
    later = [one for one in every if one.executionId() > after]
    ends = [one.completionTime().get().getTime() for one in later]
    return (max(ends) - min(one.submissionTime() for one in later)) / 1000


if __name__ == "__main__":
    main()
