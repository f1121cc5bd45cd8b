"""Streaming queries that read tables of keyfold."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from integration.faults import processes
from integration.keyed import create_keyed
from integration.streams.sinks import loaded
from tests.option_names import option_names

Fresh = Callable[[], str]


@contextlib.contextmanager
def batches(frame: DataFrame, checkpoint: Path) -> Iterator[list[list[tuple[Any, ...]]]]:
    """The rows of each micro-batch that is there now, sorted."""
    found: list[list[tuple[Any, ...]]] = []

    def keep(batch: DataFrame, number: int) -> None:
        found.append(sorted(tuple(row) for row in batch.collect()))

    writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(processes.PATIENCE)
        yield found
    finally:
        query.stop()


def read(frame: DataFrame, checkpoint: Path) -> list[list[tuple[Any, ...]]]:
    with batches(frame, checkpoint) as found:
        return [batch for batch in found if batch]


def made(spark: SparkSession, name: str, more: str = "") -> str:
    spark.sql(
        f"CREATE TABLE {name} (k INT NOT NULL, v STRING, PRIMARY KEY (k) NOT ENFORCED) "
        f"TBLPROPERTIES ('bucket' = '2', 'write-only' = 'true'{more})"
    )
    return name


def stream(spark: SparkSession, name: str, **options: str) -> DataFrame:
    given = option_names(options)
    return spark.readStream.options(**given).table(name)


def test_rows_then_changes(spark: SparkSession, tmp_path: Path, fresh_name: Fresh) -> None:
    """The table as it is, then after-images; a restart goes on where the query ended."""
    name, checkpoint = made(spark, fresh_name()), tmp_path / "c"
    assert read(stream(spark, name), tmp_path / "empty") == []
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"INSERT INTO {name} VALUES (2, 'c')")
    assert read(stream(spark, name), checkpoint) == [[(1, "a"), (2, "c")]]
    assert read(stream(spark, name), checkpoint) == []
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (3, 'd')")
    spark.sql(f"INSERT INTO {name} VALUES (2, 'e')")
    spark.sql(f"CALL keyfold.sys.compact(table => '{name}')")
    assert read(stream(spark, name), checkpoint) == [[(2, "e"), (3, "d")]]
    assert read(stream(spark, name), tmp_path / "empty") == [
        [(1, "a"), (2, "b"), (2, "c"), (2, "e"), (3, "d")]
    ]


def test_where_a_stream_begins(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, warehouse: Path
) -> None:
    name = made(spark, fresh_name())
    for value in "abcd":
        spark.sql(f"INSERT INTO {name} VALUES (1, '{value}')")
    table = loaded(warehouse, name)
    millis = {number: table.snapshots.read(number).time_millis for number in (1, 2, 3, 4)}
    path = table.layout.location
    wanted: list[tuple[dict[str, str], list[str]]] = [
        ({}, ["d"]),
        ({"scan__mode": "latest"}, []),
        ({"startingVersion": "latest"}, []),
        ({"startingVersion": "3"}, ["c", "d"]),
        ({"scan__snapshot_id": "1"}, ["a", "b", "c", "d"]),
        ({"scan__mode": "from-snapshot", "scan__snapshot_id": "5"}, []),
        ({"scan__mode": "from-snapshot-full", "scan__snapshot_id": "2"}, ["b", "c", "d"]),
        ({"scan__timestamp_millis": str(millis[3])}, ["c", "d"]),
        ({"startingTimestamp": "2020-01-01"}, ["a", "b", "c", "d"]),
        ({"scan__mode": "from-timestamp", "startingTimestamp": str(millis[4] + 1)}, []),
    ]
    for number, (options, values) in enumerate(wanted):
        found = read(stream(spark, name, **options), tmp_path / f"c{number}")
        assert [row[1] for batch in found for row in batch] == values, options
    spark.sql(f"ALTER TABLE {name} ADD COLUMN w INT")
    for number, (by_path, values) in enumerate(
        (
            ({}, ["d"]),
            ({"scan.snapshot-id": "3"}, ["c", "d"]),
            ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "2"}, ["b", "c", "d"]),
            ({"scan.mode": "from-snapshot", "scan.snapshot-id": "5"}, []),
        )
    ):
        frame = spark.readStream.format("keyfold").options(**by_path).load(path)
        found = read(frame, tmp_path / f"path{number}")
        assert [row for batch in found for row in batch] == [(1, v, None) for v in values], by_path
    reader = spark.readStream.format("keyfold")
    assert reader.schema(frame.schema).load(path).schema == frame.schema
    with pytest.raises(Exception, match=r"says `?k`? STRING.*leave \.schema"):
        reader.schema("k STRING").load(path)
    for options, said in (
        ({"scan__mode": "compacted-full"}, "compacted-full is not supported"),
        ({"scan__mode": "from-snapshot"}, "needs scan.snapshot-id"),
        ({"scan__mode": "latest", "startingVersion": "1"}, "does not go with"),
        ({"startingVersion": "1", "startingTimestamp": "2020-01-01"}, "exclude each other"),
        ({"startingVersion": "6"}, "the newest is 4"),
        ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger: expected a whole number"),
        ({"startingVersoin": "6"}, "did you mean startingVersion"),
        ({"endingVersion": "2"}, "option endingVersion is unknown"),
        ({"computeUpdates": "true"}, "option computeUpdates is unknown"),
        ({"read__stream__minRowsPerTrigger": "2"}, "minRowsPerTrigger is unknown"),
        ({"scan__tag_name": "x"}, "scan.tag-name of table .* is known to Paimon but not supported"),
    ):
        with pytest.raises(Exception, match=said):
            read(stream(spark, name, **options), tmp_path / "refused" / said)


def test_streams_of_changes(spark: SparkSession, tmp_path: Path, fresh_name: Fresh) -> None:
    """By SQL and by DataFrames, from a version, a tag or a time; a batch is never half a commit."""
    name = made(spark, fresh_name())
    for value in "abc":
        spark.sql(f"INSERT INTO {name} VALUES (1, '{value}')")
    spark.sql(f"DELETE FROM {name} WHERE k = 1")
    spark.sql(f"CALL keyfold.sys.create_tag(table => '{name}', tag => 'two', snapshot => 2)")
    columns = ("_commit_version", "_change_type", "v")
    every = [
        [(1, "insert", "a")],
        [(2, "update_postimage", "b"), (2, "update_preimage", "a")],
        [(3, "update_postimage", "c"), (3, "update_preimage", "b")],
        [(4, "delete", "c")],
    ]

    def changes(**options: str) -> DataFrame:
        given = {"computeUpdates": "true", "maxFilesPerTrigger": "1", **options}
        return spark.readStream.options(**given).changes(name).select(*columns)

    for number, (options, first) in enumerate(
        (
            ({}, 1),
            ({"startingVersion": "3"}, 3),
            ({"startingVersion": "two", "startingBoundInclusive": "false"}, 3),
            ({"startingTimestamp": "2020-01-01 00:00:00"}, 1),
        )
    ):
        assert read(changes(**options), tmp_path / str(number)) == every[first - 1 :], options
    sql = f"SELECT {', '.join(columns)} FROM STREAM {name} CHANGES FROM VERSION 'two' EXCLUSIVE"
    frame = spark.sql(f"{sql} WITH ('computeUpdates' = 'true')")
    assert read(frame, tmp_path / "sql") == [sorted(every[2] + every[3])]
    net = {"deduplicationMode": "netChanges", "maxFilesPerTrigger": "9"}
    assert read(changes(**net), tmp_path / "net") == []
    for options, said in (
        ({"startingVersion": "1", "endingVersion": "3"}, "option endingVersion is unknown"),
        ({"scan.mode": "latest"}, "option scan.mode .* is known to Paimon but not supported"),
        ({"startingVersion": "9"}, "snapshot 9 .* does not exist"),
    ):
        with pytest.raises(Exception, match=said):
            read(changes(**options), tmp_path / "refused")
    for number in range(2):
        mine = {"consumer-id": "mine", "startingVersion": "1"}
        assert read(changes(**mine), tmp_path / f"mine-{number}") == (every, [])[number]


def test_limits_of_a_batch(spark: SparkSession, tmp_path: Path, fresh_name: Fresh) -> None:
    """The full scan is split, by sections of buckets; a commit never is."""
    name = made(spark, fresh_name())
    spark.sql(f"INSERT INTO {name} SELECT id, 'x' FROM range(100)")
    for begin in (100, 110, 120):
        spark.sql(f"INSERT INTO {name} SELECT id, 'y' FROM range({begin}, {begin + 10})")
    for options, sizes in (
        ({"maxFilesPerTrigger": "1", "startingVersion": "2"}, [10, 10, 10]),
        ({"read__stream__maxRowsPerTrigger": "20", "startingVersion": "2"}, [20, 10]),
        ({"maxBytesPerTrigger": "1 gb", "startingVersion": "1"}, [130]),
        ({"maxRowsPerTrigger": "5", "startingVersion": "1"}, [100, 10, 10, 10]),
    ):
        found = read(stream(spark, name, **options), tmp_path / str(options))
        assert [len(batch) for batch in found] == sizes, options
    split = read(stream(spark, name, maxRowsPerTrigger="1"), tmp_path / "split")
    assert len(split) == 8, "four writes of keys apart, in two buckets"
    assert sorted(row[0] for batch in split for row in batch) == list(range(130))


def test_deletes(spark: SparkSession, tmp_path: Path, fresh_name: Fresh) -> None:
    name = made(spark, fresh_name())
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    read(stream(spark, name), tmp_path / "a")
    read(stream(spark, name), tmp_path / "b")
    spark.sql(f"DELETE FROM {name} WHERE k = 1")
    spark.sql(f"INSERT INTO {name} VALUES (2, 'c')")
    with pytest.raises(Exception, match="ignore-deletes"):
        read(stream(spark, name), tmp_path / "a")
    assert read(stream(spark, name, ignore_deletes="true"), tmp_path / "b") == [[(2, "c")]]


def test_what_a_stream_cannot_go_on_from(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh
) -> None:
    """Each is an error that says so; nothing is skipped and nothing begins anew."""
    name = made(spark, fresh_name())
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a')")
    read(stream(spark, name), tmp_path / "c")
    for value in "bcd":
        spark.sql(f"INSERT INTO {name} VALUES (1, '{value}')")
    spark.sql(f"CALL keyfold.sys.expire_snapshots(table => '{name}', retain_max => 1)")
    with pytest.raises(Exception, match=r"snapshot 2 .* earliest snapshot that is kept is 4"):
        read(stream(spark, name), tmp_path / "c")
    with pytest.raises(Exception, match="the earliest kept is 4"):
        read(stream(spark, name, startingTimestamp="2020-01-01"), tmp_path / "d")
    spark.sql(f"DROP TABLE {name}")
    made(spark, name)
    for value in "abcdef":
        spark.sql(f"INSERT INTO {name} VALUES (1, '{value}')")
    with pytest.raises(Exception, match="dropped and made anew"):
        read(stream(spark, name), tmp_path / "c")
    read(stream(spark, name), tmp_path / "r")
    spark.sql(f"CALL keyfold.sys.rollback(table => '{name}', version => '2')")
    for value in ("", "yz", "uvwx"):  # below the stream's snapshot, then other rows in its place
        for each in value:
            spark.sql(f"INSERT INTO {name} VALUES (1, '{each}')")
        with pytest.raises(Exception, match="rolled back below snapshot 6"):
            read(stream(spark, name), tmp_path / "r")


def test_consumers(spark: SparkSession, tmp_path: Path, fresh_name: Fresh, warehouse: Path) -> None:
    """What a consumer has yet to read does not expire, and a new query begins there."""
    name = made(spark, fresh_name())

    def insert(values: str) -> None:
        for value in values:
            spark.sql(f"INSERT INTO {name} VALUES (1, '{value}')")

    def mine(checkpoint: str) -> list[str]:
        found = read(
            stream(spark, name, consumer_id="mine", maxFilesPerTrigger="1"), tmp_path / checkpoint
        )
        return [row[1] for batch in found for row in batch]

    insert("a")
    assert mine("c") == ["a"]
    for values, checkpoint in (("bcd", "c"), ("e", "new"), ("", "newer"), ("fg", "new")):
        insert(values)
        spark.sql(f"CALL keyfold.sys.expire_snapshots(table => '{name}', retain_max => 1)")
        assert mine(checkpoint) == list(values)
    newest = loaded(warehouse, name).snapshot_id or 0
    listed = spark.sql(f"SELECT * FROM `{name}$consumers`".replace(".", "`.`")).collect()
    assert [tuple(row) for row in listed] == [("mine", newest + 1)]
    spark.sql(f"CALL keyfold.sys.rollback(table => '{name}', version => '{newest - 1}')")
    insert("xyz")
    assert mine("rolled back") == ["x", "y", "z"]


def test_a_consumer_whose_first_batch_fails(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh
) -> None:
    """Nothing of it was read: what follows is kept, and the next query has the rows anew."""
    name = made(spark, fresh_name())
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a')")

    def fail(batch: DataFrame, number: int) -> None:
        spark.sql(f"INSERT INTO {name} VALUES (1, 'b')")
        spark.sql(f"CALL keyfold.sys.expire_snapshots(table => '{name}', retain_max => 1)")
        raise ValueError("as a sink may")

    frame = stream(spark, name, consumer_id="mine")
    query = frame.writeStream.foreachBatch(fail).trigger(availableNow=True).start()
    with pytest.raises(Exception, match="as a sink may"):
        query.awaitTermination(processes.PATIENCE)
    assert read(frame, tmp_path / "c") == [[(1, "a")], [(1, "b")]]


def test_columns_that_change(spark: SparkSession, tmp_path: Path, fresh_name: Fresh) -> None:
    """A restart has the columns of today; rows of before have NULL in new ones."""
    name = made(spark, fresh_name())
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a')")
    read(stream(spark, name), tmp_path / "c")
    spark.sql(f"INSERT INTO {name} VALUES (2, 'b')")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN w INT")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN v TO x")
    spark.sql(f"INSERT INTO {name} VALUES (3, 'c', 7)")
    assert read(stream(spark, name), tmp_path / "c") == [[(2, "b", None), (3, "c", 7)]]


def test_a_column_that_is_dropped_under_a_stream(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh
) -> None:
    """The query that runs ends and says so; the next start has the columns that are left."""
    name = made(spark, fresh_name())
    spark.sql(f"ALTER TABLE {name} ADD COLUMN w INT")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 1)")
    frame, checkpoint = stream(spark, name), str(tmp_path / "c")
    query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    try:
        query.processAllAvailable()
        spark.sql(f"ALTER TABLE {name} DROP COLUMN w")
        spark.sql(f"INSERT INTO {name} VALUES (2, 'b')")
        with pytest.raises(Exception, match="ALTER TABLE has dropped column w since the stream"):
            query.awaitTermination(processes.PATIENCE)
    finally:
        query.stop()
    assert read(stream(spark, name), tmp_path / "c") == [[(2, "b")]]


def test_lag_in_the_progress(spark: SparkSession, tmp_path: Path, fresh_name: Fresh) -> None:
    name = made(spark, fresh_name())
    for value in "abc":
        spark.sql(f"INSERT INTO {name} VALUES (1, '{value}')")
    frame = stream(spark, name, startingVersion="1", maxRowsPerTrigger="1")
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    query: StreamingQuery = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(processes.PATIENCE)
    metrics = [json.loads(p.json)["sources"][0]["metrics"] for p in query.recentProgress]
    assert [found["snapshotsBehind"] for found in metrics][:3] == ["2", "1", "0"]
    assert {found["newestSnapshot"] for found in metrics} == {"3"}


def collected(frame: DataFrame, name: str) -> tuple[list[tuple[Any, ...]], str, int]:
    """The rows of a stream, the plan of its last batch, and how many rows it says it has read."""
    query = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(processes.PATIENCE)
        rows = sorted(tuple(row) for row in frame.sparkSession.table(name).collect())
        return rows, query._jsq.explainInternal(False), query.recentProgress[-1].numInputRows
    finally:
        query.stop()


def test_a_stream_reads_the_columns_that_it_uses(spark: SparkSession, fresh_name: Fresh) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT NOT NULL, a STRING, b INT, c INT", bucket=2)
    spark.sql(f"INSERT INTO {name} VALUES (1, 'x', 1, 10), (2, 'y', 2, 20), (3, 'z', 3, 30)")
    frame = spark.readStream.table(name)
    short = name.rpartition(".")[2]
    rows, plan, count = collected(frame.where("b > 1").select("a"), f"{short}_a")
    assert (rows, count) == ([("y",), ("z",)], 3)
    assert "MicroBatchScan[a#" in plan
    assert "b#" in plan
    assert "c#" not in plan
    assert "k#" not in plan
    changes = spark.readStream.option("startingVersion", "1").changes(name).select("_change_type")
    rows, plan, count = collected(changes, f"{short}_c")
    assert (rows, count) == ([("insert",)] * 3, 3)
    assert "MicroBatchScan[_change_type#" in plan
    lists = spark.readStream.table(f"keyfold.it.`{short}$binlog`").select("b")
    assert collected(lists, f"{short}_b")[0] == [([1],), ([2],), ([3],)]
    twice = frame.select("k", "b").union(frame.select("k", "c"))
    both = [(1, 1), (1, 10), (2, 2), (2, 20), (3, 3), (3, 30)]
    assert collected(twice, f"{short}_t")[0] == both
