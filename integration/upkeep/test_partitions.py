"""Partitions that go by their age: in SQL, by Java's patterns, and beside Paimon's Java library."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, DateTimeException, PySparkException
from pyspark.sql import SparkSession

import keyfold
from integration.keyed import create_keyed
from integration.paimon.library import Paimon
from keyfold.types.java_times import pattern
from tests.option_names import option_names

FORMS = {
    "yyyyMMdd": "%Y%m%d",
    "yyyy-MM-dd HH": "%Y-%m-%d %H",
    "yyyy-M-d": "%Y-%m-%d",
    "yy.MM.dd": "%y.%m.%d",
    "yyyy-MM-dd[ HH:mm]": "%Y-%m-%d",
    "yyyyMMddHHmmss": "%Y%m%d%H%M%S",
}


def day(back: float, form: str = "%Y-%m-%d") -> str:
    return (datetime.now() - timedelta(days=back)).strftime(form)


def test_sql(spark: SparkSession) -> None:
    table = "keyfold.it.partitions"
    create_keyed(
        spark,
        table,
        "dt STRING, hh INT, k INT",
        key="dt, hh, k",
        by="dt, hh",
        bucket=1,
        partition__expiration_time="20 d",
        partition__expiration_check_interval="0 s",
        partition__timestamp_pattern="$dt $hh:00:00",
    )
    days = (0, 5, 15, 30)
    values = ", ".join(f"('{day(back)}', 1, {back})" for back in days)
    spark.sql(f"INSERT INTO {table} VALUES {values}")

    def kept() -> list[int]:
        return sorted(row.k for row in spark.table(table).collect())

    def called(arguments: str) -> list[str]:
        call = f"CALL keyfold.sys.expire_partitions(table => 'it.partitions', {arguments})"
        return [row.expired_partitions for row in spark.sql(call).collect()]

    assert kept() == [0, 5, 15]
    gone = [f"dt={day(15)}, hh=1"]
    assert called("expiration_time => '10 d', dry_run => true") == gone
    assert kept() == [0, 5, 15]
    assert called("expiration_time => '10 d'") == gone
    assert kept() == [0, 5]
    assert called("expiration_time => '10 d'") == ["No expired partitions."]
    assert called("expiration_time => '1 d', expire_strategy => 'update-time'") == [
        "No expired partitions."
    ]
    changes = spark.sql(f"SELECT _change_type FROM {table} CHANGES FROM VERSION 1 TO VERSION 3")
    assert {row[0] for row in changes.collect()} == {"insert"}
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('keyfold.partition.old-writes' = 'refuse')")
    with pytest.raises(PySparkException, match="is out-of-date"):
        spark.sql(f"INSERT INTO {table} VALUES ('{day(30)}', 1, 9)")
    with pytest.raises(AnalysisException, match="expected a duration"):
        called("expiration_time => 'soon'")
    spark.sql(f"DROP TABLE {table}")


def test_rows_that_go(spark: SparkSession) -> None:
    table = "keyfold.it.old_rows"
    create_keyed(spark, table, "k INT, at TIMESTAMP", bucket=1, record_level__time_field="at")
    now = "current_timestamp()"
    spark.sql(f"INSERT INTO {table} VALUES (1, {now}), (2, {now} - INTERVAL 9 DAYS), (3, NULL)")

    def compacted() -> tuple[int, list[int]]:
        spark.sql("CALL keyfold.sys.compact(table => 'it.old_rows')").collect()
        counted = spark.sql(f"SELECT count(*) FROM {table}").collect()[0][0]
        return counted, sorted(row.k for row in spark.table(table).collect())

    assert compacted() == (3, [1, 2, 3])
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('record-level.expire-time' = '20 d')")
    assert compacted() == (3, [1, 2, 3])
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('record-level.expire-time' = '7 d')")
    assert compacted() == (2, [1, 3])
    assert spark.sql(f"SELECT count(*) FROM {table} VERSION AS OF 1").collect()[0][0] == 3
    changes = spark.sql(f"SELECT k, _change_type FROM {table} CHANGES FROM VERSION 1").collect()
    assert {tuple(row) for row in changes} == {(k, "insert") for k in (1, 2, 3)}
    with pytest.raises(AnalysisException, match="Can not find time field z"):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('record-level.time-field' = 'z')")
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('record-level.expire-time')")
    spark.sql(f"INSERT INTO {table} VALUES (2, {now} - INTERVAL 9 DAYS)")
    assert compacted() == (3, [1, 2, 3])
    spark.sql(f"DROP TABLE {table}")


@pytest.mark.parametrize("form", FORMS)
def test_java_reads_the_same_times(spark: SparkSession, form: str, seed: int) -> None:
    draw, times = random.Random(seed), spark._jvm.java.time
    formatter = times.format.DateTimeFormatter.ofPattern(form, spark._jvm.java.util.Locale.ROOT)

    def read(text: str) -> str | None:
        for kind in (times.LocalDateTime, times.LocalDate):
            try:
                return str(kind.parse(text, formatter).toString())[:16]
            except DateTimeException:
                continue
        return None

    for _ in range(60):
        at = datetime(2000, 1, 1) + timedelta(seconds=draw.randrange(60 * 366 * 86400))
        text = list(at.strftime(FORMS[form]))
        if draw.random() < 0.5:
            text[draw.randrange(len(text))] = draw.choice("0123456789-x")
        found, theirs = pattern(form).read("".join(text)), read("".join(text))
        ours = None if found is None else found.isoformat(timespec="minutes")
        if theirs is not None and "T" not in theirs:
            theirs += "T00:00"
        assert ours == theirs, "".join(text)


VALUES = [
    *(f"{day(back)}" for back in (-1, 0, 1, 4, 9, 40)),
    *("2024-1-5", "2020-13-45", "someday", "20200101", "", "2020-01-01 10:00:00"),
]


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP_NTZ"])
def test_java_lets_no_partition_of_a_date_go(paimon: Paimon, tmp_path: Path, kind: str) -> None:
    """It takes the number of the day, or a T in the text, for no time; ours are read as times."""
    columns, options = {"dt": kind, "k": "INT"}, {"bucket": "1", "write-only": "true"}
    table = keyfold.connect(tmp_path, threads=1).create_table(
        "t", columns, ["dt", "k"], ["dt"], options
    )
    today = datetime.now().replace(microsecond=0)
    times = [today - timedelta(hours=hours) for hours in (-30, 0, 20, 50, 100, 900)]
    values = [at.date() if kind == "DATE" else at for at in times]
    table.upsert([{"dt": one, "k": 1} for one in values])
    checks = option_names({"partition__expiration_check_interval": "0 s"})
    assert (
        paimon.expire(Path(table.location), **checks, **{"partition.expiration-time": "96 h"}) == []
    )
    assert len(table.expire_partitions(expiration_time="96 h")) == 2
    assert {row["dt"] for row in table.scan().to_pylist()} == set(values[:4])


@pytest.mark.parametrize(
    "asked",
    [
        {"partition.expiration-time": "3 d"},
        {"partition.expiration-time": "3 d", "partition.timestamp-pattern": "$dt $hh:00:00"},
        {"partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyy-MM-dd"},
        {"partition.expiration-time": "1 d", "partition.timestamp-formatter": "yyyyMMdd"},
        {"partition.expiration-time": "0 s", "partition.expiration-strategy": "update-time"},
        {"partition.expiration-time": "1 h", "partition.expiration-strategy": "update-time"},
        {"partition.expiration-time": "1 h", "partition.expiration-max-num": "3"},
    ],
    ids=str,
)
def test_java_leaves_the_same_partitions(
    paimon: Paimon, tmp_path: Path, asked: dict[str, str]
) -> None:
    catalog, left = keyfold.connect(tmp_path, threads=1), []
    for name in ("ours", "theirs"):
        columns = {"dt": "STRING", "hh": "INT", "k": "INT"}
        options = {"bucket": "1", "write-only": "true"} | (asked if name == "ours" else {})
        table = catalog.create_table(name, columns, ["dt", "hh", "k"], ["dt", "hh"], options)
        table.upsert([{"dt": one, "hh": hour, "k": 1} for one in VALUES for hour in (0, 23)])
        if name == "ours":
            gone = table.expire_partitions()
        else:
            own = option_names({"partition__expiration_check_interval": "0 s"})
            found = paimon.expire(Path(table.location), **own, **asked)
            assert len(found) == len(gone)
        left.append({(row["dt"], row["hh"]) for row in table.scan().to_pylist()})
    assert left[0] == left[1]
    assert len(left[0]) < 2 * len(VALUES) or "1 h" in asked.values() or not gone
