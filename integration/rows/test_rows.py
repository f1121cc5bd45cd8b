"""Random statements on a table of every engine, against dictionaries; and statements at once."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from integration.keyed import create_keyed
from integration.rows.in_sql import InSql
from tests.machine.model import ENGINES
from tests.machine.steps import Machine

STEPS = 4


@pytest.mark.parametrize("engine", ENGINES)
def test_random_statements(
    spark: SparkSession, fresh_name: Callable[[], str], engine: str, seed: int
) -> None:
    """KEYFOLD_MACHINE_SECONDS goes on for so long, over many seeds; a failure names its own."""
    end = time.monotonic() + float(os.environ.get("KEYFOLD_MACHINE_SECONDS", "0"))
    number = 0
    while number == 0 or time.monotonic() < end:
        told = f"sql {engine} {seed} {number}"
        driver = InSql(spark, fresh_name(), {"bucket": "2", **ENGINES[engine]})
        machine = Machine(driver, engine, random.Random(told))
        try:
            machine.run(STEPS if not number else 5 * STEPS)
        except Exception as error:
            error.add_note(f"seed {told}:\n" + "\n".join(machine.log))
            raise
        number += 1


def test_statements_at_once_count_once(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    """Each that conflicts has done nothing, and is run again."""
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT")
    spark.sql(f"INSERT INTO {name} VALUES (1, 0)")

    def add(_: int) -> int:
        for lost in range(100):
            try:
                spark.sql(f"UPDATE {name} SET v = v + 1 WHERE k = 1")
            except PySparkException as error:
                if error.getCondition() != "KEYFOLD_CONFLICT":
                    raise
            else:
                return lost
        raise AssertionError("always lost")

    with ThreadPoolExecutor(8) as pool:
        lost = sum(pool.map(add, range(8)))
    assert [tuple(row) for row in spark.table(name).collect()] == [(1, 8)], f"{lost} were lost"


def test_columns_that_are_not_set_keep_what_others_write(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """The UPDATE names one column: the plan says so, and the file has no value of the others."""
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "k INT, a INT, b STRING",
        merge_engine="partial-update",
        bucket=1,
        write_only=True,
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 'x')")
    spark.sql(f"UPDATE {name} SET a = 2 WHERE k = 1")
    spark.sql(f"INSERT INTO {name} (k, b) VALUES (1, 'y')")
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT 1 AS k) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET a = NULL"
    )
    assert [tuple(row) for row in spark.table(name).collect()] == [(1, None, "y")]
    folder = f"{name.rpartition('.')[0]}.`{name.rpartition('.')[2]}$files`"
    stats = [row[0] for row in spark.sql(f"SELECT null_value_counts FROM {folder}").collect()]
    assert sum('"b":1' in text.replace(" ", "") for text in stats) == 2, stats


def test_merge_into_of_frames(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    source = spark.createDataFrame([(2, 20), (3, 30)], "k INT, v INT").alias("source")
    merge = source.mergeInto(name, expr(f"source.k = {name}.k"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert sorted(tuple(row) for row in spark.table(name).collect()) == [(1, 1), (2, 20), (3, 30)]
