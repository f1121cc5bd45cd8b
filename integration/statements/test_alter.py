"""Tables altered between jobs: Spark, Paimon's Java library and pypaimon read the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.paimon.bench import Bench
from integration.paimon.test_other_readers import ours, plain
from tests import readers

COLUMNS = (
    "k INT, a INT, b STRING, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<x: INT, y: INT>>, "
    "PRIMARY KEY (k) NOT ENFORCED"
)
ENGINES = {
    "deduplicate": {"merge-engine": "deduplicate"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"},
}
CHANGES = (
    "RENAME COLUMN a TO n",
    "ALTER COLUMN n TYPE BIGINT",
    "DROP COLUMN b",
    "ADD COLUMN b INT FIRST",
    "ADD COLUMN s.z DOUBLE",
    "RENAME COLUMN s.x TO w",
    "DROP COLUMN s.y",
    "ALTER COLUMN n AFTER l",
)


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_change_between_jobs(bench: Bench, engine: str) -> None:
    bench.made(COLUMNS, {"write-only": "true", "bucket": "1", **ENGINES[engine]})
    old = "named_struct('x', {0}, 'y', 'y'), array(named_struct('x', {0}, 'y', 0))"
    for job in (1, 2):
        rows = (f"({k}, {k * job}, 'b{k}', {old.format(k)})" for k in range(job, 6))
        bench.insert(f"VALUES {', '.join(rows)}")
    for change in CHANGES:
        bench.alter(change)
    new = "named_struct('w', 7, 'z', 0.5D), NULL"
    bench.insert(f"VALUES (9, 2, {new}, 3000000000L), (8, 7, {new}, NULL)")
    found = {row["k"]: row for row in bench.agree(rows=6)}
    assert list(found[2]) == ["b", "k", "s", "l", "n"]
    assert (found[2]["b"], found[3]["b"]) == (9, None)
    total = 2 + 4 + 3000000000 if engine == "aggregation" else 3000000000
    assert found[2]["n"] == total
    assert found[1]["s"] == {"w": 1, "z": None}
    assert found[2]["s"] == {"w": 7, "z": 0.5}
    bench.spark.sql(f"CALL keyfold.sys.compact(table => '{bench.name.split('.', 1)[1]}')")
    assert {row["k"]: row for row in bench.agree(rows=6)} == found
    bench.paimon.compact(bench.folder)
    assert {row["k"]: row for row in bench.agree(rows=6)} == found


def test_pypaimon_reads_old_files(spark: SparkSession, bench: Bench, warehouse: Path) -> None:
    bench.made(
        "k INT, a INT, b STRING, c FLOAT, PRIMARY KEY (k) NOT ENFORCED", {"write-only": "true"}
    )
    bench.insert("VALUES (1, 1, 'b1', 0.5), (2, 2, 'b2', NULL)", "VALUES (3, 3, NULL, 1.5)")
    for change in ("RENAME COLUMN a TO n", "DROP COLUMN b", "ADD COLUMN b INT FIRST"):
        bench.alter(change)
    bench.alter("ALTER COLUMN c TYPE DOUBLE").alter("ALTER COLUMN n TYPE BIGINT")
    bench.insert("VALUES (7, 2, 5, 2.5), (8, 4, NULL, NULL)")
    theirs = readers.read(warehouse, bench.name.split(".", 1)[1])
    assert theirs.num_rows == 4
    found = sorted((plain(row) for row in theirs.to_pylist()), key=repr)
    assert found == ours(spark, bench.name)


def test_stored_rows_have_the_default_in_other_readers_once_they_are_written_again(
    bench: Bench,
) -> None:
    bench.made("k INT, a INT, PRIMARY KEY (k) NOT ENFORCED", {"bucket": "1"})
    bench.insert("VALUES (1, 1), (2, 2)")
    bench.alter(
        "ADD COLUMNS (n INT DEFAULT 5, t STRING DEFAULT 'it''s', d DATE DEFAULT DATE'2024-02-29')"
    )
    bench.spark.sql(f"INSERT INTO {bench.name} (k) VALUES (3)")
    rows = bench.spark.table(bench.name).collect()
    assert {(row["k"], row["n"], row["t"]) for row in rows} == {(k, 5, "it's") for k in (1, 2, 3)}
    assert len(bench.paimon.read(bench.folder).rows) == 3
    short = bench.name.split(".", 1)[1]
    bench.spark.sql(f"CALL keyfold.sys.compact(table => '{short}', compact_strategy => 'full')")
    assert {row["n"] for row in bench.agree(rows=3)} == {5}
