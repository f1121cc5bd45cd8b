"""Statements that look keys up do what Spark's own plan does, and read no more than they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.sessions import conf

pytestmark = pytest.mark.usefixtures("interpreted")
SETTING = "spark.keyfold.merge.lookup"
AQE = "spark.sql.adaptive.enabled"
TABLES = {
    "long": ("k BIGINT", "k", "", {}),
    "text": ("k STRING", "k", "", {}),
    "several": ("p STRING, k INT, j DATE", "p, k, j", "p", {"bucket-key": "k"}),
    "sequence": ("k BIGINT", "k", "", {"sequence.field": "w"}),
    "sums": (
        "k BIGINT",
        "k",
        "",
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    ),
    "parts": ("k BIGINT", "k", "", {"merge-engine": "partial-update"}),
}
KEYS = {
    "k BIGINT": "CAST(id AS BIGINT) AS k",
    "k STRING": "concat('key ', id) AS k",
    "p STRING, k INT, j DATE": (
        "CAST(id % 3 AS STRING) AS p, CAST(id AS INT) AS k, date_add(DATE'2024-01-01', id % 7) AS j"
    ),
}
MATCHED = (
    "",
    "WHEN MATCHED THEN UPDATE SET *",
    "WHEN MATCHED THEN DELETE",
    "WHEN MATCHED AND s.op = 'D' THEN DELETE WHEN MATCHED THEN UPDATE SET *",
    "WHEN MATCHED AND s.op = 'D' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v, w = s.w",
    "WHEN MATCHED AND t.v < s.v THEN UPDATE SET v = t.v + s.v, w = s.w",
    "WHEN MATCHED AND t.v % 3 = 0 THEN DELETE WHEN MATCHED AND s.op = 'U' THEN UPDATE SET v = s.v",
)
NOT_MATCHED = (
    "",
    "WHEN NOT MATCHED THEN INSERT *",
    "WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT *",
    "WHEN NOT MATCHED AND s.v > 50 THEN INSERT * "
    "WHEN NOT MATCHED AND s.op = 'U' THEN INSERT ({keys}, v) VALUES ({source}, -1)",
)
MORE = ("", "", "", " AND t.v > s.w", " AND s.v % 2 = 0", " AND t.w < 70")


def made(spark: SparkSession, table: str, kind: str, seed: int) -> None:
    """A table of a few runs."""
    columns, key, by, options = TABLES[kind]
    given = {"bucket": "3", **options}
    create_keyed(spark, table, f"{columns}, v INT, w INT", key, by, given=given)
    for run in range(2):
        spark.sql(f"INSERT INTO {table} {rows(kind, seed + run, 300, 60)}")


def rows(kind: str, seed: int, most: int, count: int, op: str = "") -> str:
    """Rows of distinct keys, by a number."""
    numbers = Random(seed).sample(range(most), count)
    listed = ", ".join(f"({number})" for number in numbers)
    values = f"hash(id, {seed})"
    return (
        f"SELECT {KEYS[TABLES[kind][0]]}, abs({values}) % 100 AS v, abs({values} >> 8) % 100 AS w"
        f"{op} FROM VALUES {listed} AS s(id)"
    )


def statement(kind: str, random: Random, table: str) -> str:
    key = TABLES[kind][1]
    names = [name.strip() for name in key.split(",")]
    keys, source = ", ".join(names), ", ".join(f"s.{name}" for name in names)
    matched, unmatched = "", ""
    while not (matched or unmatched):
        matched, unmatched = random.choice(MATCHED), random.choice(NOT_MATCHED)
    on = " AND ".join(f"t.{name} = s.{name}" for name in names) + random.choice(MORE)
    op = ", element_at(array('D', 'U', 'I', NULL), 1 + abs(hash(id)) % 4) AS op"
    given = rows(kind, random.randrange(1 << 20), 400, 80, op)
    return (
        f"MERGE INTO {table} AS t USING ({given}) AS s ON {on} {matched} "
        f"{unmatched.format(keys=keys, source=source)}"
    )


def content(spark: SparkSession, table: str) -> list[str]:
    return sorted(map(str, spark.table(table).collect()))


@pytest.mark.parametrize("kind", list(TABLES))
def test_random_merges(
    spark: SparkSession, fresh_name: Callable[[], str], seed: int, kind: str
) -> None:
    tables = [fresh_name(), fresh_name()]
    for table in tables:
        made(spark, table, kind, seed)
    random = Random(seed)
    for turn in range(4):
        state = random.getstate()
        for table, looks in zip(tables, (True, False), strict=True):
            random.setstate(state)
            text = statement(kind, random, table)
            with conf(spark, **{SETTING: looks, AQE: turn % 2 == 0}):
                spark.sql(text)
        assert content(spark, tables[0]) == content(spark, tables[1]), text
    for table in tables:
        spark.sql(f"DROP TABLE {table}")


def explained(spark: SparkSession, text: str) -> str:
    return str(spark.sql(f"EXPLAIN {text}").collect()[0][0])


@pytest.fixture
def table(spark: SparkSession, fresh_name: Callable[[], str]) -> Iterator[str]:
    """`k BIGINT, v INT, w INT` with the keys 0 to 99."""
    name = fresh_name()
    create_keyed(spark, name, "k BIGINT, v INT, w INT", bucket=2)
    spark.sql(f"INSERT INTO {name} SELECT id, CAST(id AS INT), 0 FROM range(100)")
    yield name
    spark.sql(f"DROP TABLE {name}")


def source(*given: str) -> str:
    return f"(SELECT * FROM VALUES {', '.join(given)} AS s(k, v, w, op)) AS s"


ROWS = source("(5L, 50, 1, 'U')", "(7L, 70, 1, 'D')", "(200L, 1, 1, 'I')", "(9L, 90, 1, 'I')")
UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
CDC = (
    "WHEN MATCHED AND s.op = 'D' THEN DELETE WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT *"
)


def scan_of(spark: SparkSession, text: str) -> str:
    """How a plan gets at rows of the table: by a scan, a lookup, or not at all."""
    plan = explained(spark, text)
    found = [word for word in ("BatchScan", "LookupJoin") if word in plan]
    assert len(found) < 2, plan
    return found[0] if found else ""


@pytest.mark.parametrize("key", ["INT", "BIGINT"])
def test_keys_that_are_expressions(
    spark: SparkSession, fresh_name: Callable[[], str], key: str
) -> None:
    """A key that is computed of the source, or is wider than the column, names the row."""
    name = create_keyed(spark, fresh_name(), f"k {key}, v INT", bucket=1)
    spark.sql(f"INSERT INTO {name} SELECT id, id FROM range(6)")
    for on, op in (("t.k = s.id", "1L"), ("t.k = s.id + 1", "2L"), ("t.k = 2 * s.id", "2L")):
        source = f"(SELECT * FROM VALUES ({op}), (90L) AS v(id))"
        text = f"MERGE INTO {name} t USING {source} s ON {on} WHEN MATCHED THEN DELETE"
        assert scan_of(spark, text) == ""
        spark.sql(text)
    assert content(spark, name) == [f"Row(k={k}, v={k})" for k in (0, 2, 5)]


@pytest.mark.parametrize("adaptive", [True, False])
def test_what_is_read(spark: SparkSession, table: str, adaptive: bool) -> None:
    merge = f"MERGE INTO {table} AS t USING {ROWS} ON t.k = s.k"
    with conf(spark, **{AQE: adaptive}):
        for text, wanted in {
            f"{merge} {UPSERT}": "",
            f"{merge} {CDC}": "",
            f"{merge} WHEN MATCHED THEN DELETE": "",
            f"{merge} WHEN MATCHED AND t.v > 6 THEN DELETE": "LookupJoin",
            f"{merge} WHEN MATCHED THEN UPDATE SET v = s.v": "LookupJoin",
            f"{merge} AND t.v > s.w {UPSERT}": "LookupJoin",
            f"{merge} AND t.k > 6 {UPSERT}": "LookupJoin",
            f"{merge} WHEN NOT MATCHED THEN INSERT *": "LookupJoin",
            f"{merge} {UPSERT} WHEN NOT MATCHED BY SOURCE THEN DELETE": "BatchScan",
            f"MERGE INTO {table} AS t USING {ROWS} ON t.v = s.v WHEN MATCHED THEN DELETE": (
                "BatchScan"
            ),
            f"DELETE FROM {table} WHERE k IN (SELECT k FROM {ROWS})": "LookupJoin",
            f"DELETE FROM {table} WHERE k NOT IN (SELECT k FROM {ROWS})": "BatchScan",
            f"UPDATE {table} SET v = 1 WHERE w = 0": "BatchScan",
        }.items():
            assert scan_of(spark, text) == wanted, explained(spark, text)
            with conf(spark, **{SETTING: False}):
                assert scan_of(spark, text) == "BatchScan", explained(spark, text)
    for column in ("k = 4", "k IN (4, 5)"):
        plan = explained(spark, f"DELETE FROM {table} WHERE {column}")
        assert f"pushed: {column}" in plan, plan


def test_results(spark: SparkSession, table: str) -> None:
    merge = f"MERGE INTO {table} AS t USING {ROWS} ON t.k = s.k"
    spark.sql(f"{merge} {CDC}")
    changed = {row.k: (row.v, row.w) for row in spark.table(table).where("w = 1").collect()}
    assert changed == {5: (50, 1), 9: (90, 1), 200: (1, 1)}
    assert spark.table(table).where("k = 7").count() == 0
    spark.sql(f"DELETE FROM {table} WHERE k IN (SELECT k FROM {ROWS})")
    spark.sql(f"{merge} WHEN NOT MATCHED THEN INSERT *")
    spark.sql(f"{merge} WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, -1)")
    assert spark.table(table).where("k IN (5, 7, 9, 200) AND w = 1").count() == 4
    assert spark.table(table).count() == 101


@pytest.mark.parametrize("looks", [True, False])
def test_two_rows_of_the_source_for_one_key(spark: SparkSession, table: str, looks: bool) -> None:
    twice = source("(5L, 50, 1, 'U')", "(5L, 51, 2, 'U')")
    merge = f"MERGE INTO {table} AS t USING {twice} ON t.k = s.k"
    with conf(spark, **{SETTING: looks}):
        for clauses in (UPSERT, CDC, "WHEN MATCHED THEN UPDATE SET v = t.v + s.v"):
            with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
                spark.sql(f"{merge} {clauses}")
        both = source("(6L, 50, 1, 'U')", "(6L, 51, 2, 'D')")
        with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
            spark.sql(f"MERGE INTO {table} AS t USING {both} ON t.k = s.k {CDC}")
        spark.sql(f"{merge} WHEN MATCHED THEN DELETE")
    assert spark.table(table).count() == 99


def test_null_keys_have_no_match(spark: SparkSession, table: str) -> None:
    some = source("(CAST(NULL AS BIGINT), 50, 1, 'D')", "(5L, 51, 2, 'U')")
    spark.sql(f"MERGE INTO {table} AS t USING {some} ON t.k = s.k {CDC}")
    spark.sql(f"MERGE INTO {table} AS t USING {some} ON t.k = s.k WHEN MATCHED THEN DELETE")
    assert spark.table(table).count() == 99
    spark.sql(f"DELETE FROM {table} WHERE k IN (SELECT k FROM {some})")
    with pytest.raises(Exception, match="has NULL in column k"):
        spark.sql(f"MERGE INTO {table} AS t USING {some} ON t.k = s.k {UPSERT}")
    assert spark.table(table).count() == 99


def test_a_key_of_another_type_is_cast_or_joined(spark: SparkSession, table: str) -> None:
    narrow = "(SELECT CAST(k AS INT) AS k, 1 AS v, 2 AS w FROM VALUES (5), (6) AS s(k)) AS s"
    text = (
        f"MERGE INTO {table} AS t USING {narrow} ON t.k = s.k WHEN MATCHED AND t.w = 0 THEN DELETE"
    )
    assert scan_of(spark, text) == "LookupJoin"
    wide = "(SELECT CAST(k AS DOUBLE) AS k FROM VALUES (5), (6) AS s(k)) AS s"
    other = f"MERGE INTO {table} AS t USING {wide} ON t.k = s.k WHEN MATCHED THEN DELETE"
    assert scan_of(spark, other) == "BatchScan"
    spark.sql(text)
    assert spark.table(table).count() == 98
