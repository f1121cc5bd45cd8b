"""Paimon's JDBC catalog in SQLite and in PostgreSQL, beside Paimon's Java: each finds, reads,
writes, alters, renames and drops what the other has made, and waits for the other's lock.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration.fetched import fetched
from integration.keyed import create_keyed
from integration.paimon import gateway, postgresql
from integration.paimon.java_catalog import (
    SHOP,
    Java,
    Options,
    drop_all,
    rename_and_alter,
    take_turns,
)
from keyfold.errors import StoreError
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.jdbc.database import database_of
from tests.storage.tables import new_table


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    with gateway.started(fetched("jdbc", "sqlite-jdbc-*.jar")) as found:
        yield found


@pytest.fixture(scope="module")
def server() -> Iterator[Options]:
    pytest.importorskip("psycopg")  # which requirements-dev.lock has
    with postgresql.running() as found:
        yield found


SQLITE, POSTGRESQL = "sqlite", "postgresql"


@pytest.fixture(params=[SQLITE, POSTGRESQL])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> Options:
    """Those of a catalog, in PostgreSQL with locks: Paimon's Java leaves a query of the table of
    locks open, behind which nobody else writes an SQLite file.
    """
    named = {"metastore": "jdbc", "warehouse": str(tmp_path / "lake"), "catalog-key": tmp_path.name}
    if request.param == SQLITE:
        return named | {"uri": f"jdbc:sqlite:{tmp_path}/names.db"}
    return named | {"lock.enabled": "true"} | request.getfixturevalue("server")


def test_each_reads_and_writes_what_the_other_made(java: Any, options: Options) -> None:
    take_turns(Java(java, options))


def test_each_alters_renames_and_drops(java: Any, options: Options) -> None:
    theirs = Java(java, options)
    rename_and_alter(theirs)
    stored = "SELECT property_value FROM paimon_table_properties WHERE catalog_key = ? "
    stored += "AND property_key = ?"
    with database_of(options).connection() as connection:
        key = options["catalog-key"]
        assert connection.ask(stored, key, "num-sorted-run.compaction-trigger") == [("7",)]
        assert connection.ask(stored, key, "primary-key") == [("k",)]
    drop_all(theirs, "w")


@pytest.mark.parametrize("options", [POSTGRESQL], indirect=True)
def test_each_waits_for_the_others_lock(java: Any, options: Options) -> None:
    """A commit of Paimon's Java waits for the lock that we hold, and ours for theirs."""
    ours, theirs = keyfold.connect(**options), Java(java, options)
    ours.create_namespace(SHOP)
    theirs.create("t")
    done: list[str] = []

    def write() -> None:
        theirs.write("t", 1, "java")
        done.append("java")

    with open_catalog("names", options).load_table([SHOP], "t").lock():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(1)
        done.append("ours")
    thread.join(60)
    assert done == ["ours", "java"]

    name = f"{options['catalog-key']}.{SHOP}.t"
    hasty = keyfold.connect(**options, **{"lock-acquire-timeout": "100 ms"}).table(f"{SHOP}.t")
    utils = theirs.paimon.jdbc.JdbcUtils
    with theirs.opened() as catalog:
        connections = catalog.wrapped().getConnections()
        assert utils.acquire(connections, name, 60_000)
        with pytest.raises(StoreError, match="is another's for longer"):
            hasty.upsert([{"k": 2, "v": "b"}])
        utils.release(connections, name)
    hasty.upsert([{"k": 2, "v": "b"}])
    assert theirs.read("t") == {1: "java", 2: "b"}


@pytest.mark.parametrize("options", [POSTGRESQL], indirect=True)
def test_jobs_that_make_the_same_rows_wait_for_each_other(options: Options) -> None:
    """A row that another transaction makes at the same time is neither an error nor lost."""
    ours = open_catalog("names", options)
    ours.create_namespace([SHOP], {})
    place = Path(ours.create_table([SHOP], "t", new_table()).layout.location)
    shutil.copytree(place, place.with_name("u"))
    tag = {"change": "set_property", "key": "keyfold.tag.a", "value": "ours"}
    waiting = {
        ("paimon_database_properties", "'a', 'b'"): lambda: ours.alter_namespace(
            [SHOP], {"a": "c"}, ()
        ),
        ("paimon_table_properties", "'t', 'keyfold.tag.a', 'b'"): lambda: ours.alter_table(
            [SHOP], "t", [tag]
        ),
        ("paimon_tables", "'u'"): lambda: ours.create_table(
            [SHOP], "u", new_table(), if_not_exists=True
        ),
    }
    with ThreadPoolExecutor(1) as pool, database_of(options).connection() as other:
        for (table, values), change in waiting.items():
            with other.transaction():
                row = f"('{options['catalog-key']}', '{SHOP}', {values})"
                other.change(f"INSERT INTO {table} VALUES {row}")
                changed = pool.submit(change)
                with pytest.raises(TimeoutError):
                    changed.result(0.5)
            changed.result(60)
        assert ours.load_namespace([SHOP])["a"] == "c"
        assert ours.list_tables([SHOP]) == ["t", "u"]
        asked = "SELECT property_value FROM paimon_table_properties WHERE property_key = ?"
        assert other.ask(asked, "keyfold.tag.a") == [("ours",)]


def test_sql(spark: SparkSession, options: Options) -> None:
    catalog = f"names_{options['uri'].split(':')[1]}"
    spark.conf.set(f"spark.sql.catalog.{catalog}", "keyfold.spark.KeyfoldCatalog")
    for name, value in options.items():
        spark.conf.set(f"spark.sql.catalog.{catalog}.{name}", value)
    t = f"{catalog}.sql.t"
    spark.sql(f"CREATE NAMESPACE {catalog}.sql WITH DBPROPERTIES ('team' = 'blue')")
    create_keyed(spark, t, "k BIGINT, v STRING")
    spark.sql(f"INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    spark.sql(
        f"MERGE INTO {t} USING (SELECT 2 AS k, 'c' AS v) s ON {t}.k = s.k "
        "WHEN MATCHED THEN UPDATE SET *"
    )
    spark.sql(f"ALTER TABLE {t} ADD COLUMN n INT")
    spark.sql(
        f"CREATE OR REPLACE TABLE {catalog}.sql.copy TBLPROPERTIES ('primary-key' = 'k') AS "
        f"SELECT k, v FROM {t}"
    )
    spark.sql(f"ALTER TABLE {catalog}.sql.copy RENAME TO sql.renamed")
    spark.sql(f"CREATE VIEW {catalog}.sql.few AS SELECT k FROM {t} WHERE k > 1")
    spark.sql(f"CALL {catalog}.sys.compact('sql.t')")
    assert sorted(map(tuple, spark.table(t).collect())) == [(1, "a", None), (2, "c", None)]
    assert [tuple(row) for row in spark.table(f"{catalog}.sql.few").collect()] == [(2,)]
    named = [row.tableName for row in spark.sql(f"SHOW TABLES IN {catalog}.sql").collect()]
    assert sorted(set(named) - {"few"}) == ["renamed", "t"]
    asked = ("EXPLAIN EXTENDED SELECT * FROM", "DESCRIBE EXTENDED", "SHOW CREATE TABLE")
    shown = [str(row) for one in asked for row in spark.sql(f"{one} {t}").collect()]
    write = spark.sql(f"EXPLAIN EXTENDED INSERT INTO {t} VALUES (1, 'a', 2)").collect()
    assert postgresql.PASSWORD not in json.dumps([*shown, str(write)])
    spark.sql(f"DROP NAMESPACE {catalog}.sql CASCADE")
    assert not any(
        row.namespace == "sql" for row in spark.sql(f"SHOW NAMESPACES IN {catalog}").collect()
    )
