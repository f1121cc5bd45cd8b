"""Auto-increment columns in Spark: statements, streams, and what a dictionary of ids is for."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed
from integration.streams.sinks import Source, drained
from keyfold.tables.connection import Catalog, connect

pytestmark = pytest.mark.usefixtures("interpreted")
NOBODY = "Explicitly specifying values for the auto increment column id is not allowed"


def create(spark: SparkSession, name: str, columns: str = "v INT", **options: str) -> str:
    given = {"auto_increment__fields": "id", "bucket": "1"} | options
    return create_keyed(spark, f"keyfold.it.ids_{name}", f"k STRING, id BIGINT, {columns}", **given)


def ids(spark: SparkSession, table: str) -> dict[str, int]:
    return {row.k: row.id for row in spark.table(table).collect()}


def door(warehouse: Path) -> Catalog:
    return connect(warehouse)


def test_statements(spark: SparkSession) -> None:
    name = create(spark, "statements")
    spark.sql(f"INSERT INTO {name} (k, v) VALUES ('c', 1), ('a', 2)")
    spark.sql(f"INSERT INTO {name} (v, k) SELECT 5, * FROM VALUES ('b'), ('a')")
    spark.sql(f"UPDATE {name} SET v = 7 WHERE k = 'c'")
    spark.sql(
        f"MERGE INTO {name} t "
        "USING (SELECT * FROM VALUES ('d', 1), ('a', 9) AS (k, v)) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
    )
    spark.sql(f"DELETE FROM {name} WHERE k = 'b'")
    spark.createDataFrame([("e", 1), ("b", 2)], "k STRING, v INT").writeTo(name).append()
    expected = {("c", 1, 7), ("a", 2, 9), ("d", 4, 1)}
    found = {tuple(row) for row in spark.table(name).collect()}
    assert {row for row in found if row[0] in "cad"} == expected
    assert {(row[0], row[1] in (5, 6)) for row in found - expected} == {("e", True), ("b", True)}
    changes = spark.sql(f"SELECT k, id FROM {name} CHANGES FROM VERSION 1").collect()
    assert {(row.k, row.id) for row in changes} >= {("a", 2), ("b", 3), ("d", 4)}


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_nobody_writes_ids(spark: SparkSession, engine: str) -> None:
    name = create(spark, f"refused_{engine[:4]}", merge_engine=engine)
    spark.sql(f"INSERT INTO {name} (k, v) VALUES ('a', 1)")
    for statement in (
        "INSERT INTO {t} VALUES ('x', 1, 1)",
        "INSERT INTO {t} (k, id) VALUES ('x', 1)",
        "INSERT INTO {t} BY NAME SELECT 'x' AS k, CAST(1 AS BIGINT) AS id",
        "INSERT OVERWRITE {t} VALUES ('x', 1, 1)",
        "UPDATE {t} SET id = 5",
        "MERGE INTO {t} t USING (SELECT 'x' AS k, 1 AS v) s ON t.k = s.k "
        "WHEN NOT MATCHED THEN INSERT (k, id) VALUES (s.k, s.v)",
        "MERGE INTO {t} t USING (SELECT 'a' AS k, 99 AS v) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET id = s.v",
    ):
        with pytest.raises(PySparkException) as refused:
            spark.sql(statement.format(t=name))
        assert NOBODY in str(refused.value), statement
    frame = spark.createDataFrame([("x", 3)], "k STRING, id BIGINT")
    with pytest.raises(PySparkException, match="auto increment column id"):
        frame.writeTo(name).append()
    assert ids(spark, name) == {"a": 1}


def test_many_tasks(spark: SparkSession) -> None:
    """Buckets number their keys beside each other, and again for keys that are there."""
    name = create(spark, "many", bucket="4", **{"table.auto-increment.cache-size": "1000"})
    for start in (0, 10_000):
        source = spark.range(start, start + 20_000, 1, 4).selectExpr("CONCAT('k', id) k", "1 v")
        source.writeTo(name).append()
    found = ids(spark, name)
    assert len(found) == len(set(found.values())) == 30_000
    spark.sql(f"CALL keyfold.sys.compact('{name.removeprefix('keyfold.')}')")
    assert ids(spark, name) == found


def test_streams(spark: SparkSession, tmp_path: Path) -> None:
    """A batch that is written again gives no key a second id."""
    name = create(spark, "stream", changelog_producer="lookup")
    source = Source(spark, tmp_path / "in", "k STRING, v INT")
    source.add({"k": "a", "v": 1}, {"k": "b", "v": 1})
    drained(source.stream(), name, tmp_path / "c")
    source.add({"k": "b", "v": 2}, {"k": "c", "v": 2})
    drained(source.stream(), name, tmp_path / "c")
    (tmp_path / "c" / "commits" / "1").unlink()
    (tmp_path / "c" / "commits" / ".1.crc").unlink(missing_ok=True)
    drained(source.stream(), name, tmp_path / "c")
    assert ids(spark, name) == {"a": 1, "b": 2, "c": 3}

    def again(batch: DataFrame, number: int) -> None:
        for _ in range(2):
            batch.write.format("keyfold").mode("append").saveAsTable(name)

    source.add({"k": "d", "v": 2}, {"k": "a", "v": 5})
    query = source.stream().writeStream.foreachBatch(again).trigger(availableNow=True)
    assert query.option("checkpointLocation", str(tmp_path / "f")).start().awaitTermination(300)
    assert ids(spark, name) == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_distinct_counts_over_ids(spark: SparkSession, tmp_path: Path) -> None:
    """Texts of a stream become ids, ids become bitmaps, and their sizes are count(DISTINCT)."""
    words, days = "keyfold.it.ids_words", "keyfold.it.ids_days"
    create_keyed(
        spark,
        words,
        "k STRING, id INT",
        auto_increment__fields="id",
        bucket=2,
        lookup__insert_if_not_exists=True,
    )
    create_keyed(
        spark,
        days,
        "day STRING, few BINARY, users BINARY",
        key="day",
        merge_engine="aggregation",
        bucket=1,
        folds={"few": "rbm32", "users": "rbm64"},
    )
    random, source = Random(6), Source(spark, tmp_path / "in", "day STRING, who STRING")
    events = [(f"d{random.randrange(3)}", f"user {random.randrange(150)}") for _ in range(900)]
    for start in range(0, 900, 300):
        source.add(*({"day": d, "who": w} for d, w in events[start : start + 300]))

    def write(batch: DataFrame, number: int) -> None:
        batch.createOrReplaceTempView("named")
        sums = batch.sparkSession.sql(
            "SELECT day, rb_build_agg(id) AS few, rb_build_agg(id) AS users FROM named GROUP BY day"
        )
        options = {"txnAppId": "days", "txnVersion": str(number)}
        sums.writeTo(days).options(**options).append()

    dictionary = spark.table(words).hint("lookup").withColumnRenamed("k", "who")
    named = source.stream().join(dictionary, "who")
    query = named.writeStream.foreachBatch(write).trigger(availableNow=True)
    assert query.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination(300)
    found = spark.sql(f"SELECT day, rb_cardinality(few), rb_cardinality(users) FROM {days}")
    log = spark.createDataFrame(events, "day STRING, who STRING").createOrReplaceTempView("events")
    log = spark.sql("SELECT day, count(DISTINCT who) AS n, n FROM events GROUP BY day")
    assert sorted(found.collect()) == sorted(log.collect())
    whole = f"SELECT rb_cardinality(rb_or_agg(few)), rb_cardinality(rb_or_agg(users)) FROM {days}"
    distinct = len({who for _, who in events})
    assert tuple(spark.sql(whole).collect()[0]) == (distinct, distinct)
    assert len(ids(spark, words)) == distinct
