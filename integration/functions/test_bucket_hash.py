"""One bucket hash: in Scala, by which a write is clustered, in Python and in Paimon."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration import TOP
from integration.keyed import create_keyed
from integration.planning.plans import assert_ours, rows_of_tasks

FreshName = Callable[[], str]
VECTORS = json.loads((TOP / "tests" / "vectors" / "bucket_hash.json").read_text())


def sql_type(paimon: str) -> str:
    return {"BYTES": "BINARY"}.get(paimon, "TIMESTAMP_NTZ" if "TIMESTAMP" in paimon else paimon)


def literal(paimon: str, cell: Any) -> str:
    if cell is None:
        return f"CAST(NULL AS {sql_type(paimon)})"
    text = f"X'{cell}'" if paimon == "BYTES" else f"'{cell}'"
    return f"CAST({text} AS {sql_type(paimon)})"


# Spark's timestamps have six digits always: it can't tell a TIMESTAMP(3), whose hash is another.
@pytest.mark.parametrize(
    "vector",
    [vector for vector in VECTORS if "TIMESTAMP(3)" not in vector["types"]],
    ids=lambda vector: f"{vector['types']}{vector['row']}",
)
def test_the_jvm_hashes_as_paimon(spark: SparkSession, vector: dict[str, Any]) -> None:
    cells = ", ".join(map(literal, vector["types"], vector["row"]))
    frame = spark.sql(f"SELECT {cells}")
    plan = frame._jdf.queryExecution()
    (row,) = plan.toRdd().collect()
    jvm = spark._jvm
    assert jvm is not None
    assert jvm.keyfold.spark.BucketHash.ofRow(plan.analyzed().schema(), row) == vector["hash"]


def test_rows_with_null_keys_go_to_the_task_of_their_bucket(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k BIGINT, v BIGINT", primary_key__nullable=True, bucket=4)
    spark.sparkContext.setJobGroup("nulls", "nulls")
    spark.range(0, 8000, 1, 4).selectExpr("IF(id % 2 = 0, NULL, id)", "id").toDF("k", "v").writeTo(
        name
    ).append()
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    loads = sorted(rows_of_tasks(spark, "nulls"))
    assert sum(loads) == 8000
    assert len(loads) == 4, "one task per bucket: NULLs have no task of their own"
    assert 4000 < loads[-1] < 5500
    found = Counter(row.k is None for row in assert_ours(spark.table(name)).collect())
    assert found == {False: 4000, True: 1}
