"""Failures of keyfold arrive in PySpark as the classes that the package exports, with a condition
and an SQLSTATE, and stay Spark's own classes too.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException, SparkRuntimeException
from pyspark.sql import SparkSession

import keyfold
from integration.keyed import create_keyed
from keyfold.errors import KeyfoldError, condition

SQLSTATES = {
    keyfold.ConflictError: "40001",
    keyfold.CorruptDataError: "XX001",
    keyfold.EnvironmentMismatchError: "58000",
    keyfold.FoldOverflowError: "22003",
    keyfold.FunctionError: "39000",
    keyfold.KeyfoldError: "58000",
    keyfold.NamespaceExistsError: "42P06",
    keyfold.NamespaceNotEmptyError: "2BP01",
    keyfold.NoSuchNamespaceError: "42704",
    keyfold.NoSuchTableError: "42P01",
    keyfold.NotSupportedError: "0A000",
    keyfold.SnapshotExpiredError: "55000",
    keyfold.StoreError: "58000",
    keyfold.TableError: "42000",
    keyfold.TableExistsError: "42P07",
    keyfold.UnknownOutcomeError: "08007",
}


@pytest.fixture
def table(spark: SparkSession, fresh_name: Callable[[], str]) -> str:
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "k INT, n TINYINT",
        merge_engine="aggregation",
        bucket=1,
        write_only=True,
        folds={"n": "sum"},
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 100Y)")
    return name


def jvm_failure(spark: SparkSession, kind: str) -> Any:
    no_group = spark._jvm.scala.Option.empty()
    made = spark._jvm.keyfold.spark.KeyfoldException
    return made(kind, "what went wrong", None, "", no_group)


def throw(spark: SparkSession, failure: Any) -> None:
    spark._jvm.scala.util.Failure(failure).get()


def test_every_exported_class_has_a_state() -> None:
    exported = {getattr(keyfold, name) for name in keyfold.__all__ if name.endswith("Error")}
    assert exported == set(SQLSTATES)


@pytest.mark.parametrize("ours", SQLSTATES, ids=lambda ours: ours.__name__)
def test_each_class_is_caught_by_its_own_name(
    spark: SparkSession, ours: type[KeyfoldError]
) -> None:
    with pytest.raises(ours, match="what went wrong") as caught:
        throw(spark, jvm_failure(spark, ours.kind))
    error: Any = caught.value
    assert isinstance(error, SparkRuntimeException)
    assert error.getCondition() == condition(ours.kind)
    assert error.getSqlState() == SQLSTATES[ours]
    assert error.getMessage() == f"[{condition(ours.kind)}] what went wrong"


def test_a_cause_of_ours_is_found(spark: SparkSession) -> None:
    cause = jvm_failure(spark, "ConflictError")
    with pytest.raises(keyfold.ConflictError, match="what went wrong"):
        throw(spark, spark._jvm.org.apache.spark.SparkException("Job aborted", cause))


def test_failures_of_the_jar_and_of_spark(spark: SparkSession, table: str) -> None:
    with pytest.raises(keyfold.KeyfoldError) as died:
        throw(spark, jvm_failure(spark, "WorkerDied"))
    assert died.value.getCondition() == "KEYFOLD_WORKER_DIED"
    with pytest.raises(PySparkException) as plain:
        spark.sql(f"SELECT nothing FROM {table}")
    assert not isinstance(plain.value, keyfold.KeyfoldError)


def test_what_sparks_parser_refuses_has_its_words(spark: SparkSession) -> None:
    """Spark 4.3's throws a class there that its interface does not declare, which a proxy hides."""
    with pytest.raises(PySparkException) as caught:
        spark.sql("SELECT CAST(current_date() AS TIMESTAMP_NTZ(9))")
    assert caught.value.getCondition() in ("UNSUPPORTED_DATATYPE", "FEATURE_NOT_ENABLED")


def test_statements_that_are_refused(spark: SparkSession, table: str) -> None:
    with pytest.raises(keyfold.TableError) as wrong:
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('bukcet' = '2')")
    assert isinstance(wrong.value, AnalysisException)
    assert wrong.value.getCondition() == "KEYFOLD_TABLE"
    assert wrong.value.getSqlState() == "42000"
    assert "bukcet" in wrong.value.getMessage()
    with pytest.raises(keyfold.NotSupportedError):
        spark.sql(f"ALTER TABLE {table} ADD COLUMN v INTERVAL YEAR TO MONTH")


def test_failures_of_tasks(spark: SparkSession, table: str) -> None:
    spark.sql(f"INSERT INTO {table} VALUES (1, 100Y)")
    with pytest.raises(keyfold.FoldOverflowError) as caught:
        spark.table(table).collect()
    assert caught.value.getSqlState() == "22003"


def test_damage(spark: SparkSession, table: str, warehouse: Path) -> None:
    (snapshot,) = (warehouse / "it.db" / table.rpartition(".")[2] / "snapshot").glob("snapshot-*")
    snapshot.write_text("{")
    with pytest.raises(keyfold.CorruptDataError):
        spark.table(table).collect()


def test_a_conflict(
    spark: SparkSession, table: str, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table goes while rows for it are made."""
    folder = warehouse / "it.db" / table.rpartition(".")[2]
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)

    def dropping(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        shutil.rmtree(folder)

    rows = spark.range(1, 2, 1, 1).selectExpr("CAST(id AS INT) AS k", "CAST(1 AS TINYINT) AS n")
    with pytest.raises(keyfold.ConflictError) as caught:
        rows.mapInArrow(dropping, "k INT, n TINYINT").writeTo(table).append()
    assert caught.value.getSqlState() == "40001"
