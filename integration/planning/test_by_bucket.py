"""Tables that are read bucket by bucket: joins and groups by the bucket key without a shuffle."""

from __future__ import annotations

from collections.abc import Iterator

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import plan_of
from integration.planning.test_pushdown import rows_of
from integration.sessions import conf

NAMES = ("o", "l", "other", "days", "hours", "blanks", "many")
ORDERS, LINES, OTHER, DAYS, HOURS, BLANKS, MANY = (f"keyfold.it.by_bucket_{name}" for name in NAMES)
LEFT = f"SELECT a.*, b.k FROM {BLANKS} a LEFT JOIN"
# Spark 4.3 reads a bucket of several partitions in one task, where a query groups by some of them.
ACROSS_PARTITIONS = 1 if pyspark.__version__.startswith("4.2.") else 0
SETTINGS = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession) -> None:
    """Orders and their lines in 4 buckets by the order; others in 3; two partitioned tables that
    share some partitions; one whose partitions are in one folder; and one whose buckets go by two
    columns.
    """
    create_keyed(spark, ORDERS, "id STRING, day INT", key="id", bucket=4, write_only=True)
    create_keyed(
        spark,
        LINES,
        "id STRING, line INT, n INT",
        key="id, line",
        bucket=4,
        bucket_key="id",
        write_only=True,
    )
    create_keyed(spark, OTHER, "id STRING, v INT", key="id", bucket=3)
    create_keyed(spark, DAYS, "day INT, v INT", key="day, v", by="day", bucket=2)
    create_keyed(
        spark,
        HOURS,
        "day INT, hour STRING, v INT, w INT",
        key="day, hour, v",
        by="day, hour",
        bucket=2,
        write_only=True,
    )
    create_keyed(spark, BLANKS, "p STRING, k INT", key="p, k", by="p", bucket=1)
    create_keyed(spark, MANY, "a INT, b INT", key="a, b")
    key = "concat('order number ', id % 300)"
    spark.sql(f"INSERT INTO {ORDERS} SELECT {key}, id % 7 FROM range(300)")
    spark.sql(f"INSERT INTO {ORDERS} SELECT {key}, 8 FROM range(20)")
    spark.sql(f"INSERT INTO {LINES} SELECT {key}, id % 5, id FROM range(2000)")
    spark.sql(f"INSERT INTO {OTHER} SELECT {key}, id FROM range(100)")
    spark.sql(f"INSERT INTO {DAYS} SELECT id % 8, id FROM range(100)")
    spark.sql(f"INSERT INTO {BLANKS} VALUES ('', 5), (' ', 5), ('  ', 1), ('c', 5)")
    for w in (1, 2):
        spark.sql(
            f"INSERT INTO {HOURS} SELECT 5 + id % 6, concat('h', id % 2), id, {w} FROM range(90)"
        )


@pytest.fixture(autouse=True)
def settings(spark: SparkSession) -> Iterator[None]:
    """Spark joins by buckets, and broadcasts nothing."""
    with conf(spark, **SETTINGS):
        yield


def by_bucket(spark: SparkSession, query: str) -> DataFrame:
    """The query with a session that asks for it; planned there."""
    with conf(spark, **{"spark.keyfold.read-by-bucket": True}):
        frame = spark.sql(query)
        plan_of(frame)
        return frame


@pytest.mark.parametrize(
    ("query", "exchanges"),
    [
        (f"SELECT * FROM {ORDERS} o JOIN {LINES} l ON o.id = l.id", 0),
        (f"SELECT * FROM {ORDERS} o FULL JOIN {LINES} l ON o.id = l.id AND n < 50", 0),
        (f"SELECT id, sum(n), count(*) FROM {LINES} GROUP BY id", 0),
        (f"SELECT o.id, max(n) FROM {ORDERS} o JOIN {LINES} l ON o.id = l.id GROUP BY o.id", 0),
        (f"SELECT * FROM {LINES} l LEFT ANTI JOIN {ORDERS} o ON o.id = l.id AND day = 8", 0),
        (f"SELECT * FROM {ORDERS} o JOIN {LINES} l USING (id) WHERE id = 'order number 7'", 0),
        (f"SELECT n FROM {LINES} WHERE n > 1990", 0),
        (f"SELECT day, count(id) FROM {ORDERS} GROUP BY day", 1),
        (f"SELECT * FROM {ORDERS} o JOIN {OTHER} l ON o.id = l.id", 2),
        (f"SELECT d.v, n FROM {DAYS} d JOIN {LINES} l ON d.v = l.n", 2),
        (f"SELECT * FROM {DAYS} a JOIN {DAYS} b USING (day, v)", 0),
        (f"SELECT * FROM {DAYS} FULL JOIN (SELECT * FROM {DAYS} WHERE v > 3) USING (day, v)", 0),
        (f"SELECT * FROM {HOURS} a JOIN {HOURS} b USING (hour, v, day) WHERE a.day < 8", 0),
        (f"SELECT day, v, count(DISTINCT hour) FROM {HOURS} GROUP BY day, v", ACROSS_PARTITIONS),
        (f"SELECT day, v, hour, sum(w), count(*) FROM {HOURS} GROUP BY day, v, hour", 0),
        (f"{LEFT} (SELECT * FROM {BLANKS} WHERE p = '') b ON a.p = b.p AND a.k = b.k", 0),
        (f"{LEFT} (SELECT * FROM {BLANKS} WHERE p = ' ') b ON a.p = b.p AND a.k = b.k", 0),
        (f"SELECT a.v FROM {DAYS} a LEFT ANTI JOIN {DAYS} b ON a.v = b.v AND a.day = b.day", 0),
        (f"SELECT * FROM {DAYS} a JOIN {DAYS} b ON a.v = b.v", 2),
        (f"SELECT * FROM {DAYS} a JOIN {DAYS} b USING (day, v) WHERE day = 99", 2),
    ],
)
def test_equal_keys_meet_without_a_shuffle(spark: SparkSession, query: str, exchanges: int) -> None:
    found = by_bucket(spark, query)
    assert plan_of(found).count("Exchange hashpartitioning") == exchanges
    plain = spark.sql(query)
    assert rows_of(found) == rows_of(plain)
    assert "Exchange" in plan_of(plain) or exchanges == 0


def test_one_task_a_bucket(spark: SparkSession) -> None:
    found = spark.read.option("read-by-bucket", "true").table(LINES)
    assert found.rdd.getNumPartitions() == 4
    assert spark.table(LINES).rdd.getNumPartitions() < 4
    assert rows_of(found) == rows_of(spark.table(LINES))
    assert found.where("id = 'none'").collect() == []


def test_what_a_join_finds_is_not_read(spark: SparkSession) -> None:
    """Conditions that are found as a query runs leave the buckets as they were."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "1m")
    query = (
        f"SELECT o.id, n FROM {ORDERS} o JOIN {LINES} l ON o.id = l.id "
        f"WHERE o.id IN (SELECT id FROM {OTHER} WHERE v = 5)"
    )
    assert rows_of(by_bucket(spark, query)) == rows_of(spark.sql(query))


def test_partitions_that_a_join_finds(spark: SparkSession) -> None:
    """Partitions and buckets that are left out as a query runs."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "1m")
    query = (
        f"SELECT /*+ MERGE(b) */ a.v, b.day FROM {DAYS} a JOIN {DAYS} b USING (day, v) "
        f"WHERE a.day IN (SELECT v FROM {OTHER} WHERE v = 5)"
    )
    found = by_bucket(spark, query)
    assert "dynamicpruning" in plan_of(found)
    assert rows_of(found) == rows_of(spark.sql(query))


def test_the_function_names_the_buckets(spark: SparkSession) -> None:
    found = spark.sql(f"SELECT count(*) FROM {LINES} WHERE keyfold.bucket(4, id) <> _bucket")
    assert found.first()[0] == 0


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (MANY, "true", "its bucket key has several columns"),
        (LINES, "perhaps", "option read-by-bucket"),
    ],
)
def test_refusals(spark: SparkSession, name: str, value: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        spark.read.option("read-by-bucket", value).table(name).collect()
