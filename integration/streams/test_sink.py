"""Streaming queries that write tables of keyfold: columns, modes, order and exactly once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration.faults import processes
from integration.keyed import create_keyed
from integration.streams.sinks import Source, drained, loaded, rows, stray

Fresh = Callable[[], str]


def made(spark: SparkSession, name: str, columns: str, **options: str) -> str:
    """A table of one bucket with the key `k`."""
    return create_keyed(spark, name, f"k BIGINT NOT NULL, {columns}", **{"bucket": "1"} | options)


def test_rows_of_a_key_fold_in_input_order(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh
) -> None:
    """In an epoch and across epochs; columns by name in any order and case; casts as INSERT's."""
    name = made(
        spark,
        fresh_name(),
        "words STRING, n INT",
        merge_engine="aggregation",
        fields__words__aggregate_function="listagg",
        fields__n__aggregate_function="sum",
    )
    source = Source(spark, tmp_path / "in", "n BIGINT, WORDS STRING, K BIGINT")
    source.add(*({"K": i % 3, "WORDS": f"w{i}", "n": i} for i in range(60)))
    source.add(*({"K": i % 3, "WORDS": f"x{i}", "n": i} for i in range(30)))
    drained(source.stream(), name, tmp_path / "checkpoint")
    expected = [
        (
            k,
            ",".join([f"w{i}" for i in range(k, 60, 3)] + [f"x{i}" for i in range(k, 30, 3)]),
            sum(range(k, 60, 3)) + sum(range(k, 30, 3)),
        )
        for k in range(3)
    ]
    assert rows(spark, name) == expected
    source.add({"K": 1, "n": 1 << 40})
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        drained(source.stream(), name, tmp_path / "checkpoint")
    assert rows(spark, name) == expected


def test_columns_that_a_stream_lacks(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, warehouse: Path
) -> None:
    """Under partial-update they stay; under deduplicate they get their DEFAULT; by path too."""
    partial = made(spark, fresh_name(), "a INT, b INT", merge_engine="partial-update")
    whole = made(spark, fresh_name(), "a INT DEFAULT 7, b INT")
    for name in (partial, whole):
        spark.sql(f"INSERT INTO {name} VALUES (1, 10, 20)")
    source = Source(spark, tmp_path / "in", "k BIGINT, b INT")
    source.add({"k": 1, "b": 21}, {"k": 2, "b": 22})
    path = str(warehouse / "it.db" / partial.split(".")[2])
    drained(source.stream(), path, tmp_path / "c1")
    drained(source.stream(), whole, tmp_path / "c2")
    assert rows(spark, partial) == [(1, 10, 21), (2, None, 22)]
    assert rows(spark, whole) == [(1, 7, 21), (2, 7, 22)]


def test_refused_columns(spark: SparkSession, tmp_path: Path, fresh_name: Fresh) -> None:
    name = made(spark, fresh_name(), "v INT")
    source = Source(spark, tmp_path / "in", "k BIGINT, v INT, w INT")
    source.add({"k": 1, "v": 1, "w": 1}, {"v": 1})
    stream = source.stream()
    for frame, said in (
        (stream, "has no column w, only k, v"),
        (stream.select("v"), "CANNOT_FIND_DATA"),
        (stream.select("k", F.lit("1").alias("v")), "CANNOT_SAFELY_CAST"),
        (stream.select("k", "v"), "primary key"),
    ):
        with pytest.raises(Exception, match=said):
            drained(frame, name, tmp_path / "checkpoint" / said)
    whole = stream.select("k", "v").where("k IS NOT NULL")
    with pytest.raises(Exception, match="MergeMode OVERWRITE"):
        drained(whole, name, tmp_path / "m", merge_mode="overwrite")
    with pytest.raises(Exception, match="option rows is unknown"):
        drained(whole, name, tmp_path / "o", rows="2")
    rate = spark.readStream.format("rate").load().selectExpr("value AS k", "1 AS v")
    writer = rate.writeStream.option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(Exception, match="a continuous trigger is not supported"):
        writer.trigger(continuous="1 second").toTable(name).awaitTermination(30)
    assert rows(spark, name) == []


def test_a_stream_that_adds_columns(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, warehouse: Path
) -> None:
    """Restarts with wider sources: each adds what it has, of any depth, and no row is twice; a
    stream without the option is refused, and changes nothing. By path, and in `foreachBatch`, too.
    """
    name = made(
        spark,
        fresh_name(),
        "n INT, s STRUCT<a: INT>",
        merge_engine="aggregation",
        fields__n__aggregate_function="sum",
    )
    path = str(warehouse / "it.db" / name.split(".")[2])
    source, checkpoint = Source(spark, tmp_path / "in", "k BIGINT, n INT"), tmp_path / "checkpoint"
    source.add({"k": 1, "n": 1})
    drained(source.stream(), name, checkpoint, mergeSchema="true")
    source.schema = "k BIGINT, N BIGINT, s STRUCT<a: BIGINT, b: STRING>, more STRING"
    source.add({"k": 1, "N": 2, "s": {"a": 1 << 40, "b": "x"}, "more": "one"})
    source.add({"k": 2, "N": 1 << 40, "more": "two"})
    with pytest.raises(Exception, match=r"has no column more, only k, n, s: .*mergeSchema"):
        drained(source.stream(), name, checkpoint)
    assert spark.table(name).columns == ["k", "n", "s"]
    drained(source.stream(), name, checkpoint, mergeSchema="true")
    expected = [(1, 3, (1 << 40, "x"), "one"), (2, 1 << 40, None, "two")]
    assert rows(spark, name) == expected
    assert spark.table(name).schema["n"].dataType.simpleString() == "bigint"
    source.schema += ", last INT"
    source.add({"k": 2, "N": 1, "last": 9})
    drained(source.stream(), path, checkpoint, mergeSchema="true")
    kept = [(1, 3, (1 << 40, "x"), "one", None), (2, (1 << 40) + 1, None, "two", 9)]
    assert rows(spark, name) == kept

    def insert(batch: DataFrame, _: int) -> None:
        batch.writeTo(name).option("mergeSchema", "true").append()

    source.schema = "k BIGINT, each INT"
    source.add({"k": 3, "each": 1})
    writer = source.stream().where("each IS NOT NULL").writeStream.foreachBatch(insert)
    writer = writer.option("checkpointLocation", str(tmp_path / "each"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(processes.PATIENCE)
    assert rows(spark, name)[2] == (3, None, None, None, None, 1)


def test_row_kinds_and_overwriting_rows(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh
) -> None:
    kinds = made(spark, fresh_name(), "v INT, kind STRING", rowkind__field="kind")
    sums = made(
        spark,
        fresh_name(),
        "v INT",
        merge_engine="aggregation",
        fields__v__aggregate_function="sum",
    )
    spark.sql(f"INSERT INTO {sums} VALUES (1, 5), (2, 5)")
    source = Source(spark, tmp_path / "in", "k BIGINT, v INT, kind STRING")
    source.add({"k": 1, "v": 1, "kind": "+I"}, {"k": 2, "v": 2, "kind": "+I"})
    source.add({"k": 1, "v": 1, "kind": "-D"})
    drained(source.stream(), kinds, tmp_path / "c1")
    assert rows(spark, kinds) == [(2, 2, "+I")]
    drained(source.stream().select("k", "v"), sums, tmp_path / "c2", merge_mode="overwrite")
    assert rows(spark, sums) == [(1, 1), (2, 2)]


def counted(stream: DataFrame) -> DataFrame:
    return stream.groupBy("k").agg(F.count("*").alias("n"))


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_groups_of_a_stream(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, mode: str
) -> None:
    name = made(spark, fresh_name(), "n BIGINT")
    spark.sql(f"INSERT INTO {name} VALUES (99, 99)")
    source = Source(spark, tmp_path / "in", "k BIGINT")
    source.add({"k": 1}, {"k": 2}, {"k": 1})
    source.add({"k": 1}, {"k": 3})
    drained(counted(source.stream()), name, tmp_path / "checkpoint", mode)
    source.add({"k": 3})
    drained(counted(source.stream()), name, tmp_path / "checkpoint", mode)
    kept = [(99, 99)] if mode == "update" else []
    assert rows(spark, name) == [(1, 3), (2, 1), (3, 2), *kept]


def sums(spark: SparkSession, name: str) -> str:
    return made(
        spark,
        name,
        "n BIGINT",
        merge_engine="aggregation",
        fields__n__aggregate_function="sum",
    )


def test_an_epoch_that_is_replayed(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, warehouse: Path
) -> None:
    """Spark forgets that it committed the last epoch: the table knows, after compactions and
    overwrites of others and after all older snapshots have gone. No file of the replay stays.
    """
    name = sums(spark, fresh_name())
    source, checkpoint = Source(spark, tmp_path / "in", "k BIGINT, n BIGINT"), tmp_path / "c"
    source.add({"k": 1, "n": 1})
    drained(source.stream(), name, checkpoint)
    source.add({"k": 1, "n": 10})
    drained(source.stream(), name, checkpoint)
    spark.sql(f"INSERT INTO {name} VALUES (2, 5)")
    spark.sql(f"CALL keyfold.sys.compact(table => '{name}')")
    spark.sql(f"CALL keyfold.sys.expire_snapshots(table => '{name}', retain_max => 1)")
    assert len(loaded(warehouse, name).snapshots.ids()) == 1
    shutil.rmtree(checkpoint / "commits" / "1", ignore_errors=True)
    (checkpoint / "commits" / "1").unlink()
    (checkpoint / "commits" / ".1.crc").unlink()
    source.add({"k": 1, "n": 100})
    drained(source.stream(), name, checkpoint)
    assert rows(spark, name) == [(1, 111), (2, 5)]
    assert stray(loaded(warehouse, name)) == set()


def test_batches_with_a_transaction(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, warehouse: Path
) -> None:
    """`foreachBatch` that fails after it wrote: the batch comes again."""
    name = sums(spark, fresh_name())
    source, checkpoint = Source(spark, tmp_path / "in", "k BIGINT, n BIGINT"), tmp_path / "c"
    source.add({"k": 1, "n": 1}, {"k": 1, "n": 2})
    source.add({"k": 2, "n": 5})
    fails = [True]

    def write(batch: DataFrame, number: int) -> None:
        options = {"txnAppId": "app", "txnVersion": str(number)}
        batch.writeTo(name).options(**options).append()
        if number == 1 and fails:
            fails.clear()
            raise RuntimeError("after the write")

    def run() -> None:
        writer = source.stream().writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query = writer.start()
        try:
            query.awaitTermination(processes.PATIENCE)
        finally:
            query.stop()

    with pytest.raises(Exception, match="after the write"):
        run()
    run()
    assert rows(spark, name) == [(1, 3), (2, 5)]
    assert stray(loaded(warehouse, name)) == set()
    for options, said in (
        ({"txnAppId": "a"}, "go together"),
        ({"txnAppId": "a", "txnVersion": "x"}, "a whole number"),
    ):
        with pytest.raises(Exception, match=said):
            spark.sql("SELECT 1L k, 1L n").writeTo(name).options(**options).append()


def test_compaction_holds_no_batch_up(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, warehouse: Path
) -> None:
    """The first batch finds runs to compact that take longer than a batch: others come before."""
    name = made(spark, fresh_name(), "pad STRING", write_only="true")
    for turn in range(4):
        pads = f"SELECT id, repeat(md5(concat(id, '-{turn}')), 300) FROM range(20000)"
        spark.sql(f"INSERT INTO {name} {pads}")
    options = "'write-only' = 'false', 'num-sorted-run.compaction-trigger' = '3'"
    slowly = "'file.compression.zstd-level' = '19'"  # some seconds for the runs, none for a row
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({options}, {slowly})")
    source = Source(spark, tmp_path / "in", "k BIGINT, pad STRING")
    for number in range(6):
        source.add({"k": 30_000 + number, "pad": "x"})
    drained(source.stream(), name, tmp_path / "checkpoint")

    def kinds() -> list[str]:
        table = loaded(warehouse, name)
        return [table.snapshots.read(n).commit_kind for n in sorted(table.snapshots.ids())[4:]]

    assert processes.wait_until(lambda: "COMPACT" in kinds())
    assert kinds()[:2] == ["APPEND", "APPEND"], "the second batch waited for the compaction"
    assert spark.table(name).count() == 20_006


def test_stopped_queries_leave_nothing(
    spark: SparkSession, tmp_path: Path, fresh_name: Fresh, warehouse: Path
) -> None:
    """Stopped wherever they are, and started again: they end without an error, and each row is
    there once. Tasks remove their files, but for one that ends while its query stops, whose answer
    no longer reaches the driver: its file is an orphan.
    """
    name = sums(spark, fresh_name())
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('target-file-size' = '64 kb')")
    frame = (
        spark.readStream.format("rate-micro-batch")
        .options(rowsPerBatch=20_000, numPartitions=2)
        .load()
        .selectExpr("value % 1000 k", "value n")
    )
    for number in range(4):
        query = (
            frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .toTable(name)
        )
        before = query.lastProgress
        assert processes.wait_until(lambda q=query, b=before: q.lastProgress is not b)
        processes.wait_until(lambda: False, 0.07 * number)
        query.stop()
        assert query.exception() is None
    total = spark.sql(f"SELECT sum(n), count(*) FROM {name}").first()
    batches = next(n for n in range(1, 1000) if sum(range(n * 20_000)) >= total[0])
    assert (total[0], total[1]) == (sum(range(batches * 20_000)), 1000)
    table = loaded(warehouse, name)
    processes.wait_until(lambda: not stray(loaded(warehouse, name)), 10)
    left = stray(table)
    assert len(left) < 4  # of four stops, each with one task that writes
    for file in left:
        os.utime(f"{table.layout.location}/bucket-0/{file}", (0, 0))
    spark.sql(f"CALL keyfold.sys.remove_orphan_files('{name}')").collect()
    assert not stray(loaded(warehouse, name))
    assert spark.sql(f"SELECT sum(n), count(*) FROM {name}").first() == total
