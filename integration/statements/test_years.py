"""DATE and TIMESTAMP outside the years 1 to 9999, which Spark and Paimon hold and Python lacks."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from integration.paimon.bench import Bench

DAYS = {"+10000-01-01": 2932897, "-0001-12-31": -719529, "+200000-06-15": 72329138}
TIMES = {
    "+10000-01-01 12:00:00.5": 2932897 * 86400 * 10**6 + 43200500000,
    "-0001-12-31 00:00:00": -719529 * 86400 * 10**6,
    "2024-02-29 01:02:03": 1709168523000000,
}
COLUMNS = {
    "DATE": (DAYS, ["p=+10000-01-01", "p=+200000-06-15", "p=-0001-12-31"]),
    "TIMESTAMP_NTZ": (TIMES, None),
    "TIMESTAMP": (TIMES, None),
}


def made(bench: Bench, kind: str) -> list[str]:
    """A table partitioned by such a column, with it in its values too; the constants it holds."""
    bench.create(
        f"k INT, p {kind}, v {kind}, n INT, PRIMARY KEY (k, p) NOT ENFORCED",
        partitions="p",
        bucket="1",
    )
    constants = [f"{kind} '{text}'" for text in COLUMNS[kind][0]]
    rows = ", ".join(f"({k}, {sql}, {sql}, {k})" for k, sql in enumerate(constants))
    bench.insert(f"VALUES {rows}")
    return constants


@pytest.mark.parametrize("kind", COLUMNS)
def test_partitions_and_values(bench: Bench, spark: SparkSession, kind: str) -> None:
    constants = made(bench, kind)
    values, names = COLUMNS[kind]
    theirs = sorted(bench.paimon.read(bench.folder).rows)
    assert theirs == [[k, value, value, k] for k, value in enumerate(values.values())]
    for k, sql in enumerate(constants):
        for column in ("p", "v"):
            found = spark.sql(f"SELECT k FROM {bench.name} WHERE {column} = {sql}").collect()
            assert [row.k for row in found] == [k]
            least = f"SELECT min({column}) = {sql}, max({column}) = {sql} FROM {bench.name}"
            assert spark.sql(f"{least} WHERE k = {k}").first() == (True, True)
    shown = [row[0] for row in spark.sql(f"SHOW PARTITIONS {bench.name}").collect()]
    assert len(shown) == 3
    assert names is None or sorted(shown) == names
    quoted = "`" + bench.name.replace(".", "`.`")
    files = spark.sql(f"SELECT partition, min_value_stats FROM {quoted}$files`").collect()
    assert any(row.partition.startswith("p=+10000-01-01") for row in files)
    assert any('"v":"-0001-12-31' in row.min_value_stats for row in files)
    assert spark.sql(f"SELECT * FROM {quoted}$partitions`").count() == 3

    spark.sql(f"DELETE FROM {bench.name} WHERE k = 1 AND p = {constants[1]}")
    spark.sql(f"INSERT OVERWRITE {bench.name} PARTITION (p = {constants[0]}) VALUES (7, NULL, 7)")
    bench.insert(f"VALUES (2, {constants[2]}, {constants[2]}, 9)")
    short = bench.name.split(".", 1)[1]
    spark.sql(f"CALL keyfold.sys.compact(table => '{short}', compact_strategy => 'full')")
    first, _, last = values.values()
    expected = [[2, last, last, 9], [7, first, None, 7]]
    assert sorted(bench.paimon.read(bench.folder).rows) == expected
    spark.sql(f"ALTER TABLE {bench.name} DROP PARTITION (p = {constants[0]})")
    assert [row.k for row in spark.sql(f"SELECT k FROM {bench.name}").collect()] == [2]


def test_keys_and_defaults(bench: Bench, spark: SparkSession) -> None:
    late = "CAST('+10000-01-01' AS DATE)"
    bench.create(
        "d DATE, n TINYINT, PRIMARY KEY (d) NOT ENFORCED",
        merge_engine="aggregation",
        fields__n__aggregate_function="sum",
        bucket="1",
        write_only="true",
    )
    bench.insert(f"VALUES ({late}, 100Y)", f"VALUES ({late}, 100Y)")
    with pytest.raises(Exception, match=re.escape("d = +10000-01-01")):
        spark.sql(f"SELECT n FROM {bench.name}").collect()
    bench.alter("ALTER COLUMN n TYPE INT")
    bench.alter(f"ADD COLUMN e DATE DEFAULT {late}")
    found = spark.sql(f"SELECT n, e = {late} AS is_late FROM {bench.name} WHERE d = {late}")
    assert [tuple(row) for row in found.collect()] == [(200, True)]


def test_folders_that_would_be_one(bench: Bench, spark: SparkSession) -> None:
    """Paimon names a folder by four digits of the year where names are not legacy."""
    bench.create(
        "k INT, p DATE, PRIMARY KEY (k, p) NOT ENFORCED",
        partitions="p",
        partition__legacy_name="false",
    )
    with pytest.raises(Exception, match=r"partition column p can't be \+10000-01-01"):
        bench.insert("VALUES (1, CAST('+10000-01-01' AS DATE))")
    assert spark.table(bench.name).count() == 0
