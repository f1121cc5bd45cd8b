"""Consumers and done partitions by CALL."""

from pathlib import Path

from pyspark.sql import SparkSession

from integration.keyed import create_keyed

TABLE = "keyfold.it.consumers"


def _call(spark: SparkSession, text: str) -> bool:
    return bool(spark.sql(f"CALL keyfold.sys.{text}").collect()[0].result)


def _read(spark: SparkSession, folder: Path, number: int) -> list[int]:
    """The keys that a new query of the consumer reads."""
    seen: list[int] = []
    source = spark.readStream.option("consumer-id", "c").table(TABLE)
    query = (
        source.writeStream.option("checkpointLocation", str(folder / str(number)))
        .foreachBatch(lambda batch, _: seen.extend(row.k for row in batch.collect()))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(seen)


def test_a_stream_goes_on_where_its_consumer_is_set(spark: SparkSession, tmp_path: Path) -> None:
    create_keyed(spark, TABLE, "d INT, k INT", key="d, k", by="d", bucket=1)
    for k in (1, 2, 3):
        spark.sql(f"INSERT INTO {TABLE} VALUES (1, {k})")
    assert _read(spark, tmp_path, 1) == [1, 2, 3]
    assert _read(spark, tmp_path, 2) == []
    assert _call(spark, "reset_consumer('it.consumers', 'c', 2)")
    assert [tuple(row) for row in spark.table("keyfold.it.`consumers$consumers`").collect()] == [
        ("c", 2)
    ]
    assert _read(spark, tmp_path, 3) == [2, 3]
    assert _call(spark, "clear_consumers('it.consumers', 'x.*')")
    assert _call(spark, "reset_consumer(table => 'it.consumers', consumerId => 'c')")
    assert not _call(spark, "reset_consumer(table => 'it.consumers', consumerId => 'c')")
    assert _call(spark, "mark_partition_done('it.consumers', 'd=1')")
    place = spark.sql(f"DESCRIBE TABLE EXTENDED {TABLE}").where("col_name = 'Location'").first()
    assert place is not None
    assert (Path(place.data_type.removeprefix("file:")) / "d=1" / "_SUCCESS").exists()
    idle = "compact(table => 'it.consumers', partition_idle_time => '1 h', dry_run => true)"
    assert [row.status for row in spark.sql(f"CALL keyfold.sys.{idle}").collect()] == ["skipped"]
    spark.sql(f"DROP TABLE {TABLE}")
