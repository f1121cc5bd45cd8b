"""A warehouse on each object store through Spark: what SQL does there, and that no text shows a
credential.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration import TOP
from integration.client.jvm import Program
from integration.cluster import object_store_session
from integration.faults.processes import DEADLINE
from integration.keyed import create_keyed
from tests.stores import azurite, kinds

pytestmark = pytest.mark.usefixtures("interpreted")
CATALOG = "spark.sql.catalog."
HADOOP = {  # its names of settings that are ours
    "s3.endpoint": "fs.s3a.endpoint",
    "s3.region": "fs.s3a.endpoint.region",
    "s3.access-key": "fs.s3a.access.key",
    "s3.secret-key": "fs.s3a.secret.key",
    "gcs.endpoint": "fs.gs.storage.root.url",
}


@pytest.fixture(scope="module", params=kinds.KINDS)
def options(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    with kinds.running(request.param) as found:
        yield found


@pytest.fixture(scope="module")
def store(spark: SparkSession, options: dict[str, str]) -> str:
    """A catalog whose own options say how to log in."""
    name = f"on_{options['warehouse'].partition(':')[0]}"
    spark.conf.set(f"{CATALOG}{name}", "keyfold.spark.KeyfoldCatalog")
    for setting, value in options.items():
        spark.conf.set(f"{CATALOG}{name}.{setting}", value)
    spark.sql(f"CREATE NAMESPACE {name}.shop")
    return f"{name}.shop"


@pytest.fixture
def hadoop(spark: SparkSession, options: dict[str, str]) -> Iterator[str]:
    """A catalog of the same warehouse, which Hadoop's settings of the session log in as far as they
    have names for it.
    """
    scheme = options["warehouse"].partition(":")[0]
    name = f"hadoop_{scheme}"
    spark.conf.set(f"{CATALOG}{name}", "keyfold.spark.KeyfoldCatalog")
    theirs = {HADOOP[setting]: options[setting] for setting in HADOOP if setting in options}
    theirs |= {setting: options[setting] for setting in options if setting.startswith("fs.")}
    own = {s: v for s, v in options.items() if s not in HADOOP and not s.startswith("fs.")}
    for setting, value in own.items():
        value = value.replace("s3:", "s3a:") if setting == "warehouse" else value
        spark.conf.set(f"{CATALOG}{name}.{setting}", value)
    for setting, value in theirs.items():
        spark.conf.set(f"spark.hadoop.{setting}", value)
    yield f"{name}.shop"
    for setting in theirs:
        spark.conf.unset(f"spark.hadoop.{setting}")


@pytest.mark.parametrize("options", ["azure"], indirect=True)
def test_the_login_of_a_catalog_goes_before_the_sessions(
    spark: SparkSession, options: dict[str, str]
) -> None:
    key = next(setting for setting in options if setting.startswith("fs.azure.account.key."))
    spark.conf.set(f"{CATALOG}by_signature", "keyfold.spark.KeyfoldCatalog")
    own = {s: v for s, v in options.items() if s != key} | {"azure.sas-token": azurite.sas_token()}
    for setting, value in own.items():
        spark.conf.set(f"{CATALOG}by_signature.{setting}", value)
    spark.conf.set(f"spark.hadoop.{key}", "YW5vdGhlciBhY2NvdW50cw==")
    try:
        assert spark.sql("SHOW NAMESPACES IN by_signature").collect()
    finally:
        spark.conf.unset(f"spark.hadoop.{key}")


@pytest.mark.parametrize("options", ["s3"], indirect=True)
def test_programs_of_the_jvm(spark: SparkSession, store: str) -> None:
    program = Program(spark)
    table = program.create(f"{store}.by_program", {"id": "INT", "n": "INT/sum"}, "id")
    for _ in range(2):
        program.write(table, [{"id": n, "n": n} for n in range(9)])
    lookuper = table.newLookup().createLookuper()
    later = lookuper.lookupAsync(program.value({"id": 4}))
    assert [lookuper.lookup(program.value({"id": 3})).getInt(1), later.get().getInt(1)] == [6, 8]
    writer = table.newUpsert().createWriter()
    writer.delete(program.value({"id": 3}))
    writer.close()
    assert lookuper.lookup(program.value({"id": 3})) is None
    lookuper.close()
    assert spark.table(f"{store}.by_program").count() == 8
    spark.sql(f"DROP TABLE {store}.by_program")


def rows(found: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in found.collect())


def test_sql(spark: SparkSession, store: str, hadoop: str) -> None:
    table = f"{store}.stock"
    create_keyed(
        spark,
        table,
        "sku STRING, day DATE, qty BIGINT",
        key="sku, day",
        by="day",
        merge_engine="aggregation",
        bucket=2,
        folds={"qty": "sum"},
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
    catalog = store.partition(".")[0]
    compact = "sys.compact(table => 'shop.stock', compact_strategy => 'full')"
    spark.sql(f"CALL {catalog}.{compact}").collect()
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


def test_nothing_shows_a_credential(tmp_path: Path) -> None:
    """All that a session writes, its log at INFO and the errors of a wrong endpoint included."""
    with contextlib.ExitStack() as servers:
        stores = {kind: servers.enter_context(kinds.running(kind)) for kind in kinds.KINDS}
        said = said_by_a_session(stores, tmp_path)
    for part in ("Physical Plan", "keyfold", "Table Properties", "CREATE TABLE", "INFO", "failed"):
        assert part in said, part
    for secret in (*kinds.SECRETS, "is-not-shown-either"):
        assert secret not in said


def said_by_a_session(stores: dict[str, dict[str, str]], folder: Path) -> str:
    environment = os.environ | {object_store_session.STORES: json.dumps(stores)}
    done = subprocess.run(
        [sys.executable, "-m", "integration.cluster.object_store_session", str(folder)],
        cwd=TOP,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout
