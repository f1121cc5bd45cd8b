"""The demo's streams: files of flights fold to a table, whose changes fold to totals by carrier.

    python -m integration.demo.streams FOLDER FILES

streams in a session of its own until it is killed: it prints its JVM's process id, then a line of
JSON for each batch. After a third of the files it stops both queries and starts them again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from integration import sessions
from integration.demo import tables
from integration.faults.harness import jvm_of

DAYS, TOTALS = "keyfold.demo.streamed_days", "keyfold.demo.carrier_totals"
CREATE = {
    DAYS: tables.CARRIER_DAYS,
    TOTALS: """
CREATE TABLE {name} (
  carrier STRING, days BIGINT, flights BIGINT, cancelled BIGINT, delayed BIGINT, miles BIGINT,
  kind STRING, PRIMARY KEY (carrier) NOT ENFORCED
) TBLPROPERTIES (
  'merge-engine' = 'aggregation', 'rowkind.field' = 'kind',
  'fields.days.aggregate-function' = 'sum',
  'fields.flights.aggregate-function' = 'sum',
  'fields.cancelled.aggregate-function' = 'sum',
  'fields.delayed.aggregate-function' = 'sum',
  'fields.miles.aggregate-function' = 'sum',
  'fields.kind.aggregate-function' = 'last_value')
""",
}

# The flights of a week, as one file.
WEEKS = """
SELECT *, floor((dayofyear(day) - 1) / 7) AS week FROM flights
"""
COLUMNS = (
    "origin STRING, carrier STRING, flight INT, distance BIGINT, day DATE, delay INT, "
    "tailnum STRING, departure TIMESTAMP_NTZ"
)
RECORDS = tables.CARRIER_DAY_RECORDS.partition("FROM flights")[0] + "FROM {weeks}"
# An update takes back what the carrier's day was.
CHANGES = """
SELECT carrier, 1L AS days, flights, cancelled, delayed, miles, rowkind AS kind
FROM {changes}
"""
QUESTIONS = {
    "every carrier and day, streamed": (
        f"SELECT * FROM {DAYS} ORDER BY carrier, day",
        "SELECT * FROM expected_carrier_days ORDER BY carrier, day",
    ),
    "totals by carrier, of its changes": (
        f"SELECT carrier, days, flights, cancelled, delayed, miles FROM {TOTALS} ORDER BY carrier",
        """
SELECT carrier, count(DISTINCT day) AS days, count(*) AS flights,
       count_if(departure IS NULL) AS cancelled, count_if(delay >= 15) AS delayed,
       coalesce(sum(distance) FILTER (WHERE departure IS NOT NULL), 0) AS miles
FROM flights GROUP BY carrier ORDER BY carrier""",
    ),
}


@dataclass(frozen=True)
class Batch:
    """A micro-batch into a table: when it began, in seconds since 1970, and how long it took. It
    read the changes of the snapshots in (after, until], if its source is a table.
    """

    table: str
    number: int
    start: float
    seconds: float
    after: int
    until: int


def write_files(spark: SparkSession, folder: Path) -> int:
    """The flights as files, one a week; how many these are."""
    weeks = spark.sql(WEEKS).repartition(1)
    weeks.write.partitionBy("week").parquet(str(folder))
    return len(list(folder.rglob("*.parquet")))


def start(spark: SparkSession, folder: Path) -> list[StreamingQuery]:
    """Both queries, from where they ended."""
    reader = spark.readStream.schema(COLUMNS).option("recursiveFileLookup", "true")
    weeks = reader.option("maxFilesPerTrigger", 1).parquet(str(folder / "weeks"))
    changes = spark.readStream.table(f"{DAYS.rpartition('.')[0]}.`streamed_days$audit_log`")
    frames = {
        DAYS: spark.sql(RECORDS, weeks=weeks),
        TOTALS: spark.sql(CHANGES, changes=changes),
    }
    return [
        frame.writeStream.option("checkpointLocation", str(folder / "checkpoints" / name))
        .queryName(name)
        .toTable(name)
        for name, frame in frames.items()
    ]


def stop(queries: Iterable[StreamingQuery]) -> None:
    """End them, whatever they are at."""
    for query in queries:
        query.stop()


def batches(queries: Iterable[StreamingQuery]) -> list[Batch]:
    """What the queries have done, without what they did as they waited. Raises the error of one
    that has failed.
    """
    for query in queries:
        if (failed := query.exception()) is not None:
            raise failed
    return [_batch(json.loads(p.json)) for q in queries for p in q.recentProgress if p.numInputRows]


def _batch(progress: dict) -> Batch:
    (source,) = progress["sources"]
    ends = [(source[name] or {}).get("snapshot", 0) for name in ("startOffset", "endOffset")]
    begin = datetime.fromisoformat(progress["timestamp"]).timestamp()
    seconds = progress["durationMs"]["triggerExecution"] / 1000
    return Batch(progress["name"], progress["batchId"], begin, seconds, *ends)


def lags(spark: SparkSession, done: Iterable[Batch]) -> Iterator[float]:
    """The seconds from each commit of flights until its changes were in the totals, as the first
    batch tells that ends there or later: what a batch told when it was killed is lost.
    """
    ends = sorted((b.start + b.seconds, b.until) for b in done if b.table == TOTALS)
    committed = spark.sql(
        "SELECT snapshot_id, unix_millis(CAST(commit_time AS TIMESTAMP)) / 1000 FROM "
        "keyfold.demo.`streamed_days$snapshots` WHERE commit_kind = 'APPEND' ORDER BY snapshot_id"
    )
    for snapshot, time_of_commit in committed.collect():
        yield next(end for end, until in ends if until >= snapshot) - time_of_commit


def until_killed(folder: Path, files: int) -> None:
    """Stream, and tell of each batch."""
    spark = sessions.start(folder, **sessions.TIMED, spark__sql__shuffle__partitions="2")
    _tell({"jvm": jvm_of(spark)})
    queries, told, was_stopped = start(spark, folder), set[Batch](), False
    while True:
        time.sleep(0.1)
        done = batches(queries)
        for batch in done:
            if batch not in told:
                told.add(batch)
                _tell(asdict(batch))
        if not was_stopped and sum(b.table == DAYS for b in done) >= files / 3:
            stop(queries)
            queries, was_stopped = start(spark, folder), True


def _tell(answer: object) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    until_killed(Path(sys.argv[1]), int(sys.argv[2]))
