"""A table read as it was: by SQL, by options of readers, by its path; with the columns of then."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from integration.keyed import create_keyed

TABLE = "keyfold.it.travelled"
THEN, SINCE = [Row(id=1, v="a")], [Row(id=1, v="A", w=None), Row(id=2, v="b", w=2)]


@pytest.fixture(scope="module", autouse=True)
def times(spark: SparkSession) -> Iterator[list[int]]:
    """Two snapshots, between which a column was added; the first one is tagged. The times of both,
    in milliseconds.
    """
    create_keyed(spark, TABLE, "id INT, v STRING", key="id", bucket=1, write_only=True)
    spark.sql(f"INSERT INTO {TABLE} VALUES (1, 'a')")
    spark.sql("CALL keyfold.sys.create_tag(table => 'it.travelled', tag => 'first', snapshot => 1)")
    spark.sql(f"ALTER TABLE {TABLE} ADD COLUMN w INT")
    spark.sql(f"INSERT INTO {TABLE} VALUES (1, 'A', NULL), (2, 'b', 2)")
    made = spark.sql(
        "SELECT commit_time FROM keyfold.it.`travelled$snapshots` ORDER BY snapshot_id"
    )
    yield [int(row[0].replace(tzinfo=datetime.UTC).timestamp() * 1000) for row in made.collect()]
    spark.sql(f"DROP TABLE {TABLE}")


def rows(found: DataFrame) -> list[Row]:
    return sorted(found.collect(), key=lambda row: row.id)


def test_versions_and_times_in_sql(spark: SparkSession, times: list[int]) -> None:
    for clause in ("VERSION AS OF 1", "VERSION AS OF 'first'", "FOR SYSTEM_VERSION AS OF '1'"):
        assert rows(spark.sql(f"SELECT * FROM {TABLE} {clause}")) == THEN
    assert rows(spark.sql(f"SELECT * FROM {TABLE} VERSION AS OF 2")) == SINCE
    for millis, expected in ((times[0], THEN), (times[1] - 1, THEN), (times[1], SINCE)):
        at = f"timestamp_millis({millis})"
        assert rows(spark.sql(f"SELECT * FROM {TABLE} TIMESTAMP AS OF {at}")) == expected
    joined = spark.sql(
        f"SELECT n.id, o.v AS old, n.v AS new FROM {TABLE} n JOIN {TABLE} VERSION AS OF 'first' o "
        "ON n.id = o.id WHERE o.id = 1"
    )
    assert joined.collect() == [Row(id=1, old="a", new="A")]
    assert spark.sql(f"SELECT count(*), max(v) FROM {TABLE} VERSION AS OF 1").first() == (1, "a")


@pytest.mark.skipif(pyspark.__version__.startswith("4.2."), reason="names of Spark 4.3")
def test_versions_and_times_in_names(spark: SparkSession, times: list[int]) -> None:
    text = spark.sql(f"SELECT date_format(timestamp_millis({times[0]}), 'yyyyMMddHHmmssSSS')")
    for name, expected in (
        (f"{TABLE}@v1", THEN),
        (f"{TABLE}@v2", SINCE),
        (f"{TABLE}@{text.first()[0]}", THEN),
    ):
        assert rows(spark.sql(f"SELECT * FROM {name}")) == expected
        assert rows(spark.read.table(name)) == expected


def test_options_of_readers(spark: SparkSession, warehouse: Path, times: list[int]) -> None:
    text = spark.sql(f"SELECT string(timestamp_millis({times[0]}))").first()[0]
    given = {
        "versionAsOf": "first",
        "timestampAsOf": text,
        "scan.snapshot-id": "1",
        "scan.tag-name": "first",
        "scan.timestamp-millis": str(times[0]),
        "scan.timestamp": text,
        "scan.version": "first",
    }
    for name, value in given.items():
        reader = spark.read.option(name, value)
        assert rows(reader.table(TABLE)) == THEN, name
        path = str(warehouse / "it.db" / "travelled")
        assert rows(spark.read.format("keyfold").option(name, value).load(path)) == THEN, name
    assert rows(spark.read.option("scan.tag-name", "first").table(TABLE).where("id > 0")) == THEN
    one = "`scan.snapshot-id` = '1'"
    for asked in (one, f"'scan.mode' = 'from-snapshot', {one}"):
        with_clause = f"SELECT v FROM {TABLE} WITH ({asked}) WHERE id = 1"
        assert spark.sql(with_clause).collect() == [Row(v="a")]
    with pytest.raises(PySparkException, match="at one version: found the options"):
        spark.read.option("scan.snapshot-id", 1).option("scan.tag-name", "first").table(TABLE)


def test_metadata_tables_of_then(spark: SparkSession) -> None:
    files = "keyfold.it.`travelled$files`"
    assert spark.sql(f"SELECT count(*) FROM {files} VERSION AS OF 'first'").first()[0] == 1
    assert spark.sql(f"SELECT count(*) FROM {files}").first()[0] == 2
    ids = spark.read.option("versionAsOf", 1).table("keyfold.it.`travelled$snapshots`")
    assert [row.snapshot_id for row in ids.collect()] == [1]


def test_what_is_not_there(spark: SparkSession) -> None:
    for version, reason in (
        ("9", "snapshot 9 .* does not exist: there are 1 to 2"),
        ("nope", "no version 'nope'.*it has first"),
        ("watermark-5", "no snapshot whose watermark"),
    ):
        with pytest.raises(AnalysisException, match=reason):
            spark.sql(f"SELECT * FROM {TABLE} VERSION AS OF '{version}'")
    with pytest.raises(AnalysisException, match="or before: the earliest kept is 1, of 20"):
        spark.sql(f"SELECT * FROM {TABLE} TIMESTAMP AS OF '2000-01-01'")
    with pytest.raises(AnalysisException, match=r"scan.snapshot-id is 'x', expected a whole"):
        spark.read.option("scan.snapshot-id", "x").table(TABLE)


def test_expired_snapshots_name_the_earliest(spark: SparkSession) -> None:
    name = "keyfold.it.expired_history"
    create_keyed(spark, name, "id INT", key="id")
    for number in range(3):
        spark.sql(f"INSERT INTO {name} VALUES ({number})")
    spark.sql(
        "CALL keyfold.sys.create_tag(table => 'it.expired_history', tag => 'two', snapshot => 2)"
    )
    spark.sql("CALL keyfold.sys.expire_snapshots(table => 'it.expired_history', retain_max => 1)")
    with pytest.raises(AnalysisException, match=r"snapshot 1 .*has expired, the earliest kept"):
        spark.sql(f"SELECT * FROM {name} VERSION AS OF 1")
    for version in ("'two'", "2"):
        assert spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}").count() == 2
    spark.sql(f"DROP TABLE {name}")


def test_the_past_is_only_read(spark: SparkSession, warehouse: Path) -> None:
    past = spark.read.option("versionAsOf", 1).table(TABLE)
    past.createOrReplaceTempView("past")
    with pytest.raises(PySparkException):
        spark.sql("INSERT INTO past VALUES (3, 'c')")
    spark.catalog.dropTempView("past")
    path = str(warehouse / "it.db" / "travelled")
    writer = past.write.format("keyfold").mode("append").option("versionAsOf", 1)
    with pytest.raises(PySparkException, match="versionAsOf is unknown"):
        writer.save(path)
    assert spark.table(TABLE).count() == 2
