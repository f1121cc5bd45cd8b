"""Spark and a Python program without it on the same tables, one after the other and at once."""

import threading
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration.keyed import create_keyed
from keyfold import Catalog

TYPES = {
    "k": "INT",
    "n": "BIGINT",
    "d": "DECIMAL(10,2)",
    "s": "STRING",
    "f": "DOUBLE",
    "day": "DATE",
    "at": "TIMESTAMP",
    "a": "ARRAY<INT>",
    "m": "MAP<STRING, INT>",
    "r": "STRUCT<x: INT, y: STRING>",
}
ROW: dict[str, Any] = {
    "n": 5,
    "d": Decimal("1.50"),
    "s": "é",
    "f": 0.1,
    "day": date(2026, 3, 1),
    "at": datetime(2026, 3, 1, 12, tzinfo=timezone.utc),
    "a": [1, None],
    "m": {"x": 1},
    "r": {"x": 1, "y": "z"},
}


@pytest.fixture(scope="module")
def catalog(spark: SparkSession, warehouse: Path) -> Catalog:
    """The catalog of the session, opened by this process."""
    return keyfold.connect(warehouse, threads=2)


def of_python(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Maps as dictionaries, in order of the key."""
    plain = [{**row, "m": None if row["m"] is None else dict(row["m"])} for row in rows]
    return sorted(plain, key=lambda row: int(row["k"]))


def of_spark(spark: SparkSession, name: str) -> list[dict[str, Any]]:
    rows = [row.asDict(recursive=True) for row in spark.table(name).collect()]
    for row in rows:  # Spark gives the wall clock of this process
        row["at"] = row["at"] and row["at"].astimezone(timezone.utc)
    return sorted(rows, key=lambda row: int(row["k"]))


def test_each_reads_what_the_other_wrote(
    spark: SparkSession, catalog: Catalog, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    own = name.removeprefix("keyfold.")
    columns = ", ".join(f"{column} {kind}" for column, kind in TYPES.items())
    create_keyed(spark, name, columns)
    table = catalog.table(own)
    assert table.columns == {**TYPES, "k": "INT NOT NULL"}
    table.upsert([{"k": 1, **ROW}, {"k": 2, **dict.fromkeys(ROW)}])
    spark.sql(f"INSERT INTO {name} SELECT 3, {', '.join(ROW)} FROM {name} WHERE k = 1")
    spark.sql(f"DELETE FROM {name} WHERE k = 2")
    wanted = [{"k": 1, **ROW}, {"k": 3, **ROW}]
    assert of_python(table.scan().to_pylist()) == of_spark(spark, name) == wanted
    assert (
        of_python(table.scan(where="at = '2026-03-01 12:00:00' AND f < 0.2").to_pylist()) == wanted
    )
    table.delete([{"k": 1}])
    table.alter(add={"more": "INT"})
    assert [(row.k, row.more) for row in spark.table(name).collect()] == [(3, None)]
    assert spark.sql(f"SELECT * FROM {name} WHERE k = 3").count() == 1


def test_a_table_made_here_is_one_of_spark(
    spark: SparkSession, catalog: Catalog, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    columns = {"p": "INT", "k": "STRING", "v": "INT"}
    own = name.removeprefix("keyfold.")
    made = catalog.create_table(own, columns, ["p", "k"], ["p"], options)
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 1), (1, 'a', 2), (2, 'b', 3)")
    made.upsert([{"p": 1, "k": "a", "v": 10}])
    spark.sql(f"CALL keyfold.sys.compact(table => '{own}')")
    assert made.get({"p": 1, "k": "a"}) == {"p": 1, "k": "a", "v": 13}
    rows = {tuple(row) for row in spark.table(name).collect()}
    assert rows == {(1, "a", 13), (2, "b", 3)}
    seen = spark.sql(f"SHOW PARTITIONS {name}").collect()
    assert [row.partition for row in seen] == ["p=1", "p=2"]


def test_both_write_at_once(
    spark: SparkSession, catalog: Catalog, fresh_name: Callable[[], str]
) -> None:
    name, rounds = fresh_name(), 6
    create_keyed(
        spark,
        name,
        "k INT, v BIGINT",
        merge_engine="aggregation",
        num_sorted_run__compaction_trigger=3,
        folds={"v": "sum"},
    )
    table = catalog.table(name.removeprefix("keyfold."))
    failed: list[BaseException] = []

    def upsert() -> None:
        try:
            for number in range(rounds):
                table.upsert([{"k": -1, "v": 1}, {"k": number, "v": 1}])
                assert table.get({"k": number}) is not None
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=upsert)
    thread.start()
    for number in range(rounds):
        spark.sql(f"INSERT INTO {name} VALUES (-1, 1), ({100 + number}, 1)")
    thread.join()
    assert not failed
    wanted = {-1: 2 * rounds} | dict.fromkeys([*range(rounds), *range(100, 100 + rounds)], 1)
    assert {row["k"]: row["v"] for row in table.scan().to_pylist()} == wanted
    assert {row.k: row.v for row in spark.table(name).collect()} == wanted
