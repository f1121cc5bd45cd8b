"""Subqueries that read other columns of one table: Spark 4.3 reads them by one scan."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.sql import SparkSession

from integration.planning.plans import assert_ours, scans
from integration.sessions import conf

TABLE = "keyfold.it.read_once"
pytestmark = pytest.mark.skipif(pyspark.__version__.startswith("4.2."), reason="rule of Spark 4.3")


@pytest.fixture(scope="module", autouse=True)
def table(spark: SparkSession) -> None:
    """Sums over two runs that overlap, beside the same rows folded by Spark."""
    spark.sql(
        f"CREATE TABLE {TABLE} (k INT, a INT, b INT, s STRUCT<x: INT, y: INT>, "
        "PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ('bucket' = '2', 'write-only' = 'true', "
        "'merge-engine' = 'aggregation', 'fields.a.aggregate-function' = 'sum', "
        "'fields.b.aggregate-function' = 'max')"
    )
    runs = (
        "SELECT int(id) k, int(id * {0}) a, int(id % {0}) b, "
        "named_struct('x', int(id), 'y', {0}) s FROM range({1})"
    )
    for run in ((3, 100), (7, 60)):
        spark.sql(f"INSERT INTO {TABLE} {runs.format(*run)}")
    spark.sql(
        "SELECT k, int(sum(a)) a, max(b) b, max_by(s, s.y) s FROM "
        f"({runs.format(3, 100)} UNION ALL {runs.format(7, 60)}) GROUP BY k"
    ).createOrReplaceTempView("folded_by_spark")


@pytest.mark.parametrize(
    ("subqueries", "read"),
    [
        (["sum(a * 2) FROM {t}", "sum(b + 1) FROM {t}", "count(DISTINCT k) FROM {t}"], 1),
        (["sum(a * 2) FROM {t} WHERE k < 50", "sum(b + 1) FROM {t} WHERE k < 50"], 1),
        (["sum(a * 2) FROM {t} WHERE b > 2", "sum(b + 1) FROM {t} WHERE b > 2"], 1),
        (["keyfold.product(b) FROM {t} WHERE k < 3", "keyfold.product(a) FROM {t} WHERE k < 3"], 1),
        # What a scan does beside reading stays a scan's own.
        (["sum(a * 2) FROM {t} WHERE k < 50", "sum(b + 1) FROM {t} WHERE k < 60"], 2),
        (["sum(a) FROM {t}", "max(b) FROM {t}"], 2),
        (["k FROM {t} ORDER BY k LIMIT 1", "sum(b + 1) FROM {t}"], 2),
        (["sum(s.x + 1) FROM {t}", "sum(s.y + 1) FROM {t}"], 2),
    ],
)
def test_subqueries_share_a_scan(spark: SparkSession, subqueries: list[str], read: int) -> None:
    text = "SELECT " + ", ".join(f"(SELECT {subquery})" for subquery in subqueries)
    frame = assert_ours(spark.sql(text.format(t=TABLE)))
    assert frame.collect() == spark.sql(text.format(t="folded_by_spark")).collect()
    with conf(spark, spark__sql__adaptive__enabled=False):
        assert len(set(scans(spark.sql(text.format(t=TABLE))))) == read
