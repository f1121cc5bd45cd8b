"""A NULL in a column that takes none: the error names table, column and what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration.keyed import create_keyed
from integration.sessions import conf

KEY = r"table {name}: a row has NULL in column k, but it is part of the primary key.*nullable"
OTHER = r"table {name}: a row has NULL in column v, but it is NOT NULL.*ALTER COLUMN v DROP"
NESTED = r"column s\.f, but it is NOT NULL"


@pytest.fixture
def table(spark: SparkSession, fresh_name: Callable[[], str]) -> str:
    """A table with one row."""
    name = fresh_name()
    create_keyed(spark, name, "k INT, v STRING NOT NULL, s STRUCT<f: INT NOT NULL>")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', named_struct('f', 1))")
    return name


ROWS = {
    "key": ("CAST(if(id = 5, NULL, id) AS INT)", "'x'", "named_struct('f', 1)", KEY),
    "value": ("CAST(id AS INT)", "if(id = 5, NULL, 'x')", "named_struct('f', 1)", OTHER),
    "field": ("CAST(id AS INT)", "'x'", "named_struct('f', if(id = 5, NULL, 1))", NESTED),
}


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("where", list(ROWS))
def test_rows_of_a_query(spark: SparkSession, table: str, where: str, is_compiled: bool) -> None:
    *values, said = ROWS[where]
    query = f"SELECT {', '.join(values)} FROM range(10)"
    mode = "FALLBACK" if is_compiled else "NO_CODEGEN"
    with conf(
        spark, spark__sql__codegen__wholeStage=is_compiled, spark__sql__codegen__factoryMode=mode
    ):
        for statement in ("INSERT INTO", "INSERT OVERWRITE"):
            with pytest.raises(keyfold.TableError, match=said.format(name=table)):
                spark.sql(f"{statement} {table} {query}")
    assert [row.k for row in spark.table(table).collect()] == [1]


def test_values_and_frames(spark: SparkSession, table: str) -> None:
    said = KEY.format(name=table)
    with pytest.raises(keyfold.TableError, match=said):
        spark.sql(f"INSERT INTO {table} VALUES (2, 'x', NULL), (NULL, 'b', NULL)")
    frame = spark.sql("SELECT CAST(NULL AS INT) AS k, 'x' AS v, named_struct('f', 1) AS s")
    with pytest.raises(keyfold.TableError, match=said):
        frame.writeTo(table).append()
    with pytest.raises(keyfold.TableError, match=said):
        frame.write.insertInto(table)
    spark.sql(f"INSERT INTO {table} VALUES (2, 'x', NULL)")
    assert spark.table(table).count() == 2
