"""A warehouse on S3 through Spark: what SQL does there, and that no text shows a credential."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration import TOP
from integration.faults.processes import DEADLINE
from tests.stores import server

CATALOG = "spark.sql.catalog."
HADOOP = "spark.hadoop.fs.s3a."


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    with server.running() as found:
        yield found


@pytest.fixture(scope="module")
def store(spark: SparkSession, options: dict[str, str]) -> str:
    """A catalog whose own options say how to log in."""
    spark.conf.set(f"{CATALOG}store", "keyfold.spark.KeyfoldCatalog")
    for name, value in options.items():
        spark.conf.set(f"{CATALOG}store.{name}", value)
    spark.sql("CREATE NAMESPACE store.shop")
    return "store.shop"


@pytest.fixture
def hadoop(spark: SparkSession, options: dict[str, str]) -> Iterator[str]:
    """A catalog of the same warehouse, to which Hadoop's settings lead."""
    spark.conf.set(f"{CATALOG}lake", "keyfold.spark.KeyfoldCatalog")
    spark.conf.set(f"{CATALOG}lake.warehouse", options["warehouse"].replace("s3:", "s3a:"))
    names = {
        "endpoint": "s3.endpoint",
        "endpoint.region": "s3.region",
        "access.key": "s3.access-key",
        "secret.key": "s3.secret-key",
    }
    for theirs, ours in names.items():
        spark.conf.set(HADOOP + theirs, options[ours])
    yield "lake.shop"
    for theirs in names:
        spark.conf.unset(HADOOP + theirs)


def rows(found: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in found.collect())


def test_sql(spark: SparkSession, store: str, hadoop: str) -> None:
    table = f"{store}.stock"
    spark.sql(
        f"CREATE TABLE {table} (sku STRING, day DATE, qty BIGINT, "
        "PRIMARY KEY (sku, day) NOT ENFORCED) PARTITIONED BY (day) TBLPROPERTIES "
        "('merge-engine' = 'aggregation', 'fields.qty.aggregate-function' = 'sum', 'bucket' = '2')"
    )
    for _ in range(3):
        spark.sql(
            f"INSERT INTO {table} SELECT CONCAT('s', id % 50), DATE'2026-01-01' + INT(id % 2), id "
            "FROM RANGE(1000)"
        )
    expected = rows(
        spark.sql(
            "SELECT CONCAT('s', id % 50), DATE'2026-01-01' + INT(id % 2), 3 * SUM(id) "
            "FROM RANGE(1000) GROUP BY ALL"
        )
    )
    assert rows(spark.table(table)) == expected
    spark.sql("CALL store.sys.compact(table => 'shop.stock', compact_strategy => 'full')").collect()
    assert rows(spark.table(f"{hadoop}.stock")) == expected
    spark.sql(f"DELETE FROM {table} WHERE sku = 's1'")
    assert rows(spark.table(table)) == [row for row in expected if row[0] != "s1"]
    spark.sql(f"ALTER TABLE {table} ADD COLUMN note STRING")
    spark.sql(f"INSERT INTO {hadoop}.stock VALUES ('new', DATE'2026-01-01', 1, 'first')")
    assert rows(spark.sql(f"SELECT note FROM {table} WHERE sku = 'new'")) == [("first",)]
    spark.sql(
        f"CREATE TABLE {store}.copy TBLPROPERTIES ('primary-key' = 'sku') AS "
        f"SELECT sku, SUM(qty) AS qty FROM {table} GROUP BY sku"
    )
    assert spark.table(f"{store}.copy").count() == 50
    with pytest.raises(Exception, match="an object store has no rename"):
        spark.sql(f"ALTER TABLE {store}.copy RENAME TO shop.other")
    spark.sql(f"DROP TABLE {store}.copy")
    assert [row.tableName for row in spark.sql(f"SHOW TABLES IN {store}").collect()] == ["stock"]


def test_a_query_that_fails_leaves_no_table(spark: SparkSession, store: str) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql(
            f"CREATE TABLE {store}.broken TBLPROPERTIES ('primary-key' = 'id') "
            "AS SELECT id, 1 DIV (id - 5) AS v FROM RANGE(10)"
        )
    assert not spark.catalog.tableExists(f"{store}.broken")


def test_nothing_shows_a_credential(options: dict[str, str], tmp_path: Path) -> None:
    """All that a session writes, its log at INFO and the errors of a wrong endpoint included."""
    environment = {**os.environ, **{f"S3_{name}": value for name, value in options.items()}}
    done = subprocess.run(
        [sys.executable, "-m", "integration.cluster.object_store_session", str(tmp_path)],
        cwd=TOP,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    for said in ("Physical Plan", "keyfold", "Table Properties", "CREATE TABLE", "INFO", "failed"):
        assert said in done.stdout, said
    assert options["s3.secret-key"] not in done.stdout
    assert "is-not-shown-either" not in done.stdout
