"""Paimon's Hive catalog beside Paimon's Java, in a real Hive Metastore, whose classes are among
pyspark's jars: each finds, reads, writes, alters, renames and drops what the other has made.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration.paimon import gateway, hive_server
from integration.paimon.java_catalog import (
    SCHEMA,
    SHOP,
    Java,
    Options,
    drop_all,
    rename_and_alter,
    rows,
    take_turns,
)
from integration.paimon.library import library
from keyfold.errors import (
    KeyfoldError,
    NotSupportedError,
    TableError,
    TableExistsError,
)
from keyfold.storage.catalogs import hive_names
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.hive import tables, thrift
from keyfold.storage.hive.metastore import Metastore, RefusedError, metastore_of


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    with gateway.started(library().parent) as found:
        yield found


@pytest.fixture(scope="module")
def uri(java: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """That of a metastore in the process of Paimon's Java."""
    return hive_server.started(java, tmp_path_factory.mktemp("hive"))


@pytest.fixture
def options(uri: str, tmp_path: Path) -> Iterator[Options]:
    """Those of a catalog whose namespace goes with its test."""
    found = {"metastore": "hive", "uri": uri, "warehouse": str(tmp_path / "lake")}
    yield found
    metastore = metastore_of(found)
    for one in metastore.tables(SHOP) if metastore.database(SHOP) else ():
        metastore.drop_table(SHOP, thrift.text_of(one, 1))
    if metastore.database(SHOP):
        metastore.drop_database(SHOP)


def test_each_reads_and_writes_what_the_other_made(java: Any, options: Options) -> None:
    """The metastore has alike entries for the tables of both sides."""
    take_turns(Java(java, options))
    (one, other) = metastore_of(options).tables(SHOP)
    differs = {"createTime": 4, "lastAccessTime": 5}.values()
    assert {field for field in one.keys() | other.keys() if field not in one} <= set(differs)
    mine, java_made = (thrift.pairs_of(each, 9) for each in (one, other))
    changing = {"transient_lastDdlTime", "numFiles", "totalSize", "path"}
    assert {k: v for k, v in mine.items() if k not in changing} == {
        k: v for k, v in java_made.items() if k not in changing
    }


def test_each_alters_renames_and_drops(java: Any, options: Options) -> None:
    theirs = Java(java, options)
    rename_and_alter(theirs)
    noted = metastore_of(options).table(SHOP, "w")
    assert noted is not None
    assert thrift.pairs_of(noted, 9)["num-sorted-run.compaction-trigger"] == "7"
    assert thrift.pairs_of(noted, 9)["primary-key"] == "k"
    columns = thrift.items_of(thrift.struct_of(noted, 7), 1)
    assert [thrift.text_of(one, 2) for one in columns] == ["int", "string", "int"]
    drop_all(theirs, "w")
    assert not (Path(options["warehouse"]) / f"{SHOP}.db" / "w").exists()


def test_a_table_at_a_place_of_its_own(java: Any, options: Options, tmp_path: Path) -> None:
    """It is external: it can't be renamed here, and its files outlive it."""
    ours, theirs = keyfold.connect(**options), Java(java, options)
    ours.create_namespace(SHOP, {"comment": "all of it"})
    with theirs.opened() as catalog:
        assert catalog.getDatabase(SHOP).comment().get() == "all of it"
    place = tmp_path / "elsewhere" / "t"
    theirs.create("t", path=f"file:{place}")
    theirs.write("t", 1, "a")
    ours.table(f"{SHOP}.t").upsert([{"k": 2, "v": "b"}])
    assert theirs.read("t") == rows(options, "t") == {1: "a", 2: "b"}
    with pytest.raises(NotSupportedError, match="a place that was chosen for it"):
        ours.rename_table(f"{SHOP}.t", f"{SHOP}.u")
    ours.drop_table(f"{SHOP}.t")
    assert theirs.names() == []
    assert (place / "schema" / "schema-0").exists()


def test_refusals_name_the_reason(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hive_names, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(hive_names, "SECONDS_TO_MOVE", 0.0)
    ours = keyfold.connect(**options)
    ours.create_namespace(SHOP)
    metastore = metastore_of(options)
    lake = Path(options["warehouse"]) / f"{SHOP}.db"
    with pytest.raises(TableError, match="has no capitals: take stock"):
        ours.create_table(f"{SHOP}.Stock", SCHEMA, primary_key=["k"])
    with pytest.raises(TableError, match="column name 'Qty' is not allowed"):
        ours.create_table(f"{SHOP}.t", {"k": "INT", "Qty": "INT"}, primary_key=["k"])
    ours.create_table(f"{SHOP}.t", SCHEMA, primary_key=["k"])
    moved = (lake / "t").rename(lake / "aside")
    with pytest.raises(TableError, match="where no schema is found: restore its folder, or DROP"):
        ours.table(f"{SHOP}.t")
    assert metastore.drop_table(SHOP, "t")
    shutil.move(moved, lake / "t")
    with pytest.raises(TableError, match=r"does not know: move the folder away, or let .* sys"):
        ours.create_table(f"{SHOP}.t", SCHEMA, primary_key=["k"])
    shutil.rmtree(lake / "t")
    foreign(metastore, f"{lake}/other")
    assert ours.tables(SHOP) == []
    with pytest.raises(TableExistsError, match=r"shop.other exists, a table of another format"):
        ours.create_table(f"{SHOP}.other", SCHEMA, primary_key=["k"])
    with pytest.raises(NotSupportedError, match="a table of another format: drop it in Hive"):
        ours.drop_table(f"{SHOP}.other")
    with pytest.raises(NotSupportedError, match="has other, which is not Paimon's"):
        ours.drop_namespace(SHOP, cascade=True)
    with pytest.raises(RefusedError, match=r"refused alter_table_\w+: shop.gone"):
        metastore.alter_table(SHOP, "gone", metastore.table(SHOP, "other") or {})


def foreign(metastore: Metastore, place: str) -> None:
    """Make a table of text files, as Hive has them."""
    storage = {
        1: thrift.structs([{1: thrift.text("k"), 2: thrift.text("int")}]),
        2: thrift.text(place),
        3: thrift.text("org.apache.hadoop.mapred.TextInputFormat"),
        4: thrift.text("org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"),
        7: thrift.record({2: thrift.text("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe")}),
    }
    named = {1: thrift.text("other"), 2: thrift.text(SHOP), 7: thrift.record(storage)}
    metastore.create_table({**named, 8: thrift.structs([]), 9: thrift.pairs({})})


def test_a_name_is_won_once(options: Options) -> None:
    """Jobs that make one table at once: one makes it, others say that it exists, and all use it."""
    ours = open_catalog("names", options)
    ours.create_namespace([SHOP], {})
    barrier, won = threading.Barrier(4), []

    def make(number: int) -> None:
        client = keyfold.connect(**options)
        barrier.wait(60)
        try:
            client.create_table(f"{SHOP}.t", SCHEMA, primary_key=["k"])
            won.append(number)
        except TableExistsError:
            pass
        client.table(f"{SHOP}.t").upsert([{"k": number, "v": "a"}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(4)))
    assert len(won) == 1
    assert rows(options, "t") == dict.fromkeys(range(4), "a")


def test_every_type_of_a_column(java: Any, options: Options) -> None:
    """The metastore takes Hive's name of each, and Paimon's Java then reads the table."""
    ours, theirs = keyfold.connect(**options), Java(java, options)
    ours.create_namespace(SHOP)
    types = (
        *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)"),
        *("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING", "CHAR(300)", "CHAR(3)", "VARCHAR(9)"),
        *("BINARY", "ARRAY<INT>", "MAP<STRING,DATE>", "STRUCT<a:INT,b:ARRAY<STRING>>"),
    )
    columns = {"k": "INT"} | {f"c{number}": text for number, text in enumerate(types)}
    ours.create_table(f"{SHOP}.t", columns, primary_key=["k"]).upsert([{"k": 1}])
    with theirs.opened() as catalog:
        assert len(catalog.getTable(theirs.named("t")).rowType().getFields()) == len(columns)
    noted = metastore_of(options).table(SHOP, "t") or {}
    assert tables.is_paimon(noted)
    with pytest.raises(KeyfoldError, match="a Hive catalog has no columns of type VARIANT"):
        ours.create_table(f"{SHOP}.u", {"k": "INT", "v": "VARIANT"}, primary_key=["k"])


def test_sql(spark: SparkSession, options: Options) -> None:
    catalog = "hive_names"
    spark.conf.set(f"spark.sql.catalog.{catalog}", "keyfold.spark.KeyfoldCatalog")
    for name, value in options.items():
        spark.conf.set(f"spark.sql.catalog.{catalog}.{name}", value)
    t = f"{catalog}.{SHOP}.t"
    spark.sql(f"CREATE NAMESPACE {catalog}.{SHOP} WITH DBPROPERTIES ('team' = 'blue')")
    spark.sql(f"CREATE TABLE {t} (k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED)")
    spark.sql(f"INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"UPDATE {t} SET v = 'c' WHERE k = 2")
    spark.sql(f"ALTER TABLE {t} ADD COLUMN n INT")
    copy = f"{catalog}.{SHOP}.copy"
    for columns in ("string(k) AS k, 7 AS v", "k, v"):  # other types, which the metastore refuses
        spark.sql(
            f"CREATE OR REPLACE TABLE {copy} TBLPROPERTIES ('primary-key' = 'k') AS "
            f"SELECT {columns} FROM {t}"
        )
    noted = metastore_of(options).table(SHOP, "copy") or {}
    assert [thrift.text_of(one, 2) for one in tables.columns_of(noted)] == ["bigint", "string"]
    spark.sql(f"ALTER TABLE {copy} RENAME TO {SHOP}.renamed")
    with pytest.raises(NotSupportedError, match="views are not supported in a Hive catalog"):
        spark.sql(f"CREATE VIEW {catalog}.{SHOP}.few AS SELECT k FROM {t}")
    found = spark.table(f"{catalog}.{SHOP}.renamed").collect()
    assert sorted(map(tuple, found)) == [(1, "a"), (2, "c")]
    named = [row.tableName for row in spark.sql(f"SHOW TABLES IN {catalog}.{SHOP}").collect()]
    assert sorted(named) == ["renamed", "t"]
    spark.sql(f"DROP NAMESPACE {catalog}.{SHOP} CASCADE")
    assert metastore_of(options).database(SHOP) is None
