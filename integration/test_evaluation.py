"""Spark interprets or compiles queries, as the folder of a test wants it."""

import pytest
from pyspark.sql import SparkSession

from integration.conftest import Evaluation


@pytest.mark.parametrize(("room", "is_compiled"), [("statements", False), ("functions", True)])
def test_folders_decide_whether_queries_are_compiled(
    spark: SparkSession, room: str, is_compiled: bool
) -> None:
    Evaluation.of(room)
    query = spark.range(9).selectExpr("sum(id) AS total")
    assert query.collect() == [(36,)]
    plan = query._jdf.queryExecution().executedPlan().toString()
    assert ("*(" in plan) == is_compiled, plan  # as Spark shows the stages that it compiles
