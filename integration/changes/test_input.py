"""Under `changelog-producer` = `input` each statement tells old rows and new ones, so that a
consumer, such as Paimon's Java library, has the table.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from integration.paimon.library import Paimon
from integration.rows.in_sql import InSql
from keyfold.kernels.ops import KIND_NAMES
from keyfold.storage.table import Table
from tests.changelog.changelog_files import changes_of
from tests.changelog.consumer import ADDED, Consuming, check_told, rows_by_key
from tests.machine.model import ENGINES
from tests.machine.steps import Machine
from tests.storage import tables

ROWS = "({n}1, 1, {n}10, 1), ({n}2, 2, {n}20, 2), ({n}3, 3, {n}30, 3)"
MERGE = (
    "MERGE INTO {t} t USING (SELECT * FROM VALUES ({n}2, 20, 21, 9), ({n}9, 90, 91, 9) "
    "AS x(k, a, b, s)) v ON "
)
INSERT = "WHEN NOT MATCHED THEN INSERT (k, a, b, s) VALUES (v.k, v.a, 0, v.s)"
REST = "WHEN NOT MATCHED BY SOURCE AND t.k BETWEEN {n}0 AND {n}9 "
STATEMENTS = {
    "by key": "DELETE FROM {t} WHERE k = {n}1",
    "by value": "DELETE FROM {t} WHERE b = {n}20",
    "of keys": "DELETE FROM {t} WHERE k IN (SELECT k FROM VALUES ({n}2), (-1) AS q(k))",
    "update": "UPDATE {t} SET a = a + 1 WHERE k >= {n}1",
    "equal": "UPDATE {t} SET a = a, b = {n}10 WHERE k = {n}1",
    "earlier": "UPDATE {t} SET s = s - 1, a = NULL WHERE k = {n}3",
    "chain": "UPDATE {t} SET k = k + 1 WHERE k IN ({n}1, {n}2)",
    "onto": "UPDATE {t} SET k = {n}3 WHERE k = {n}1",
    "merge": MERGE + "t.k = v.k WHEN MATCHED THEN UPDATE SET a = v.a " + INSERT,
    "blind": MERGE + "t.k = v.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "blind delete": MERGE + "t.k = v.k WHEN MATCHED THEN DELETE",
    "only insert": MERGE + "t.k = v.k " + INSERT,
    "insert onto": MERGE + "t.b = -v.b " + INSERT,
    "by source": MERGE
    + f"t.k = v.k {REST} AND t.k = {{n}}1 THEN UPDATE SET a = 0 {REST} THEN DELETE",
    "overwrite": "INSERT OVERWRITE {t} VALUES (142, 2, 20, 2), ({n}4, 4, 4, 4)",
    "all": "DELETE FROM {t}",
}
FOLDING = ("insert onto",)  # as an INSERT: it adds to what is there


class Consumed(Consuming, InSql):
    """A table of Spark's catalog."""

    warehouse: Path

    @property
    def now(self) -> Table:
        return stored(self.warehouse, self.name)


def stored(warehouse: Path, name: str) -> Table:
    return tables.catalog(warehouse).load_table(["it"], name.rpartition(".")[2])


@pytest.mark.parametrize("engine", ["deduplicate", "sequence", "aggregation"])
def test_each_statement_tells_old_and_new_rows(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str], engine: str
) -> None:
    """Each on rows of its own. Java streams the same, and sums over that are those of the table."""
    name = fresh_name()
    InSql(spark, name, {"bucket": "1", "changelog-producer": "input", **ENGINES[engine]})
    rows = [ROWS.format(n=number) for number in range(1, 20)]
    spark.sql(f"INSERT INTO {name} VALUES {', '.join(rows)}")
    for number, (what, sql) in enumerate(STATEMENTS.items(), 1):
        if engine != "aggregation" or what not in FOLDING:
            check(spark, warehouse, name, sql.format(t=name, n=number))
    spark.sql(f"INSERT INTO {name} VALUES {rows[-1]}")
    check(spark, warehouse, name, f"TRUNCATE TABLE {name}")
    spark.sql(f"INSERT INTO {name} VALUES {rows[-1]}")
    source = spark.createDataFrame([(192, 5, 5, 5), (199, 9, 9, 9)], "k INT, a INT, b INT, s INT")
    merge = source.alias("source").mergeInto(name, expr(f"source.k = {name}.k"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    table = stored(warehouse, name)
    found = [tuple(row) for row in paimon.changes(warehouse / "it.db" / table.table)]
    ours = [
        (number, KIND_NAMES[kind], *row.values())
        for number in table.snapshots.ids()
        for kind, row in changes_of(table, number)
    ]
    assert sorted(found, key=str) == sorted(ours, key=str)
    added = [(ADDED[kind], a or 0, b) for _, kind, _, a, b, _ in found]
    sums = [sum(sign * row[at] for sign, *row in added) for at in (0, 1)]
    assert sums == list(spark.sql(f"SELECT sum(a), sum(b) FROM {name}").collect()[0])


def check(spark: SparkSession, warehouse: Path, name: str, sql: str) -> None:
    """A statement, which changes rows, and a consumer of what it tells."""
    table = stored(warehouse, name)
    before = rows_by_key(table)
    spark.sql(sql)
    now = stored(warehouse, name)
    assert now.snapshot_id != table.snapshot_id, sql
    check_told(now, table.snapshot_id or 0, before)


@pytest.mark.parametrize("engine", ["partial-update", "versioned"])
def test_random_statements_tell_what_a_consumer_needs(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str], engine: str, seed: int
) -> None:
    told = f"input {engine} {seed}"
    options = {"bucket": "2", "changelog-producer": "input", **ENGINES[engine]}
    driver = Consumed(spark, fresh_name(), options)
    driver.warehouse = warehouse
    machine = Machine(driver, engine, Random(told))
    try:
        for do in (machine.merge, machine.insert, machine.update, machine.overwrite):
            machine.step(do)
    except Exception as error:
        error.add_note(f"seed {told}:\n" + "\n".join(machine.log))
        raise
