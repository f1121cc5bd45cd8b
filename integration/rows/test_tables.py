"""Statements that change rows, on tables with a meaning of their own and from any source."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import keyfold
from integration import TOP, sessions
from integration.faults.processes import DEADLINE
from integration.keyed import create_keyed

Fresh = Callable[[], str]
pytestmark = pytest.mark.usefixtures("interpreted")
FORMATS = ("parquet", "json", "csv", "orc")


def rows(spark: SparkSession, name: str, columns: str = "*") -> list[tuple[object, ...]]:
    return [tuple(row) for row in spark.sql(f"SELECT {columns} FROM {name} ORDER BY 1").collect()]


def test_kinds_of_inserted_rows_alone_are_those_of_their_column(
    spark: SparkSession, fresh_name: Fresh
) -> None:
    """Under `rowkind.field`: an UPDATE assigns the column as any other."""
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT, op STRING", rowkind__field="op", bucket=1)
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, '+I'), (2, 2, '+I'), (3, 3, '+U')")
    spark.sql(f"UPDATE {name} SET v = v * 10, op = '-D' WHERE k = 1")
    spark.sql(
        f"MERGE INTO {name} t USING (VALUES (2, 0, '-D'), (3, 7, '-D'), (4, 4, '+I'), (5, 5, '-D') "
        "AS s(k, v, op)) s ON t.k = s.k WHEN MATCHED AND s.v = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    expected = [(1, 10, "-D"), (3, 7, "-D"), (4, 4, "+I")]
    assert rows(spark, name) == expected
    spark.sql(f"CALL keyfold.sys.compact(table => '{name}', compact_strategy => 'full')")
    assert rows(spark, name) == expected


@pytest.mark.parametrize("source", ["VALUES", "view", *FORMATS, "the table", "another's past"])
def test_any_source(spark: SparkSession, fresh_name: Fresh, source: str) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    values, other = "VALUES (2, 20), (3, 30) AS s(k, v)", f"source_{name.rpartition('.')[2]}"
    told = {
        "VALUES": f"({values})",
        "view": other,
        **dict.fromkeys(FORMATS, f"spark_catalog.default.{other}"),
        "the table": f"(SELECT k + 1 AS k, (k + 1) * 10 AS v FROM {name})",
        "another's past": f"(SELECT * FROM keyfold.it.{other} VERSION AS OF 1)",
    }[source]
    if source == "view":
        spark.sql(f"CREATE TEMPORARY VIEW {other} AS SELECT * FROM {values}")
    elif source in FORMATS:
        spark.sql(f"CREATE TABLE {told} USING {source} AS SELECT * FROM {values}")
    elif source == "another's past":
        create_keyed(spark, f"keyfold.it.{other}", "k INT, v INT")
        spark.sql(f"INSERT INTO keyfold.it.{other} {values}")
        spark.sql(f"UPDATE keyfold.it.{other} SET v = -v, k = k + 10")
    spark.sql(
        f"MERGE INTO {name} t USING {told} s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(spark, name) == [(1, 1), (2, 22), (3, 30)]


def test_each_batch_of_a_stream(spark: SparkSession, fresh_name: Fresh, tmp_path: Path) -> None:
    """`foreachBatch` runs a MERGE in the session that the batch belongs to."""
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT")
    for number, batch in enumerate(({1: 1, 0: 5}, {1: 10}, {1: 1, 2: 5})):
        lines = (json.dumps({"k": k, "v": v}) for k, v in batch.items())
        (tmp_path / f"{number}.json").write_text("\n".join(lines))

    def merge(batch: DataFrame, _: int) -> None:
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql(
            f"MERGE INTO {name} t USING batch s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *"
        )

    stream = spark.readStream.schema("k INT, v INT").option("maxFilesPerTrigger", 1)
    writer = stream.json(f"{tmp_path}/*.json").writeStream.trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.foreachBatch(merge).start().awaitTermination()
    assert rows(spark, name) == [(0, 5), (1, 12), (2, 5)]


@pytest.mark.skipif(not sessions.HAS_DELTA, reason="Delta Lake's jar is for another Spark")
def test_a_delta_table_is_a_source(tmp_path: Path) -> None:
    """In a Spark of its own, which has the extensions of both."""
    command = [sys.executable, "-m", "integration.rows.delta_source", str(tmp_path)]
    done = subprocess.run(
        command, cwd=TOP, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"rows": [[1, 1], [2, 22], [3, 30]], "scans": False}


def test_states_stay_states(spark: SparkSession, fresh_name: Fresh) -> None:
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "k INT, s BINARY",
        merge_engine="aggregation",
        fields__s__agg_state="avg(int not null)",
        folds={"s": "agg_state"},
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, avg_state(1)), (2, avg_state(2))")
    merge = f"MERGE INTO {name} t USING (VALUES 2 AS s(k)) s ON t.k = s.k WHEN MATCHED THEN UPDATE"
    for value in ("CAST('x' AS BINARY)", "avg_state('x')"):
        for statement in (f"UPDATE {name} SET s = {value}", f"{merge} SET s = {value}"):
            with pytest.raises(keyfold.KeyfoldError, match="avg"):
                spark.sql(statement)
    spark.sql(f"UPDATE {name} SET s = avg_state(9) WHERE k = 1")
    spark.sql(f"{merge} SET s = NULL")
    spark.sql(f"INSERT INTO {name} VALUES (1, avg_state(11)), (2, avg_state(4))")
    assert rows(spark, name, "k, avg_finalize(s)") == [(1, 10.0), (2, 4.0)]


def test_a_snapshot_tells_its_statement(spark: SparkSession, fresh_name: Fresh) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT")
    spark.sql(f"INSERT INTO {name} SELECT id, id FROM range(10)")
    spark.sql(f"UPDATE {name} SET v = 0 WHERE k < 3")
    spark.sql(f"DELETE FROM {name} WHERE k >= 8")
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT id AS k FROM range(6, 12)) s ON t.k = s.k "
        "WHEN MATCHED AND t.k = 6 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -1 "
        "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"
    )
    folder, _, table = name.rpartition(".")
    found = spark.sql(f"SELECT statement FROM {folder}.`{table}$snapshots` ORDER BY snapshot_id")
    told = [json.loads(row[0]) for row in found.collect() if row[0] is not None]
    assert told == [
        {"command": "UPDATE", "updated": 3},
        {"command": "DELETE", "deleted": 2},
        {"command": "MERGE", "inserted": 4, "updated": 1, "deleted": 1},
    ]
