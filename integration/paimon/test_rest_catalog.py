"""Paimon's REST catalog against the server of Paimon's own tests: tables made, written by several
processes at once, and read by pypaimon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from integration.faults.processes import DEADLINE
from integration.keyed import create_keyed
from integration.paimon import rest_server
from keyfold import connect
from keyfold.errors import (
    ConflictError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotSupportedError,
    TableError,
    TableExistsError,
)
from keyfold.storage.catalogs.views import StoredView, new_view
from keyfold.storage.commits import rescale
from keyfold.storage.history import tags
from keyfold.storage.rest import data_tokens
from keyfold.storage.schema.schemas import as_json
from tests import readers
from tests.concurrency import jobs
from tests.concurrency.jobs import Options, Write, rows_of, table_of
from tests.concurrency.processes import CONTEXT
from tests.machine.direct import Direct
from tests.machine.steps import Machine
from tests.storage import tables
from tests.storage.schema.test_alter import (
    add,
    default,
    drop,
    literal,
    move,
    null,
    put,
    remove,
    rename,
    widen,
)

PROCESSES = 6
JOBS = 4
COUNTER = -1
CATALOG = "spark.sql.catalog.server"
Change = dict[str, Any]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Options]:
    folder = tmp_path_factory.mktemp("rest")
    with rest_server.running(folder) as found:
        jobs.catalog(found).create_namespace(["default"], {})
        yield found


@pytest.fixture
def table(options: Options) -> Iterator[Options]:
    """The options, for a test that makes the table `t`."""
    yield options
    jobs.catalog(options).drop_table(["default"], "t")


def writer(options: Options, number: int, barrier: Any, told: Any) -> None:
    """Commit after commit: a key nobody else has, and one more in a counter of all."""
    barrier.wait()
    acknowledged = []
    for job in range(JOBS):
        key = number * JOBS + job
        Write(options, [{"k": key, "v": 1}, {"k": COUNTER, "v": 1}]).run().commit()
        acknowledged.append(key)
    told.put(acknowledged)


def test_every_acknowledged_commit_is_there_once(table: Options) -> None:
    jobs.made(table, merge_engine="aggregation", fields__v__aggregate_function="sum")
    barrier, told = CONTEXT.Barrier(PROCESSES), CONTEXT.Queue()
    writers = [
        CONTEXT.Process(target=writer, args=(table, n, barrier, told)) for n in range(PROCESSES)
    ]
    for process in writers:
        process.start()
    try:
        keys = [key for _ in writers for key in told.get(timeout=DEADLINE)]
    finally:
        for process in writers:
            process.join(10)
            process.kill()
    found = table_of(table)
    assert rows_of(found) == dict.fromkeys(keys, 1) | {COUNTER: PROCESSES * JOBS}
    assert sorted(found.snapshots.ids()) == list(range(1, PROCESSES * JOBS + 1))


def test_pypaimon_reads_what_we_wrote_and_we_what_it_wrote(table: Options) -> None:
    jobs.made(table)
    Write(table, [{"k": key, "v": key} for key in range(3)]).run().commit()

    def read() -> list[dict[str, Any]]:
        return sorted(readers.read(table, "default.t").to_pylist(), key=lambda row: row["k"])

    assert read() == [{"k": key, "v": key} for key in range(3)]
    assert jobs.compacted(table) == ["committed"]
    assert read() == [{"k": key, "v": key} for key in range(3)]
    schema = table_of(table).layout.arrow_schema
    readers.write(table, "default.t", pa.Table.from_pylist([{"k": 2, "v": 20}], schema=schema))
    assert rows_of(table_of(table)) == {0: 0, 1: 1, 2: 20}


def test_statements_and_snapshots(table: Options, seed: int) -> None:
    """By the machine of tests/machine, without what the server keeps for its other clients."""
    driver = Direct(table, "deduplicate", {})
    Machine(driver, "deduplicate", Random(seed), without=("expire",)).run(20)


def test_tags_branches_and_rollback(tmp_path: Path) -> None:
    """With a server of its own, which lists a table once more for each branch that it has had."""
    with rest_server.running(tmp_path) as table:
        jobs.catalog(table).create_namespace(["default"], {})
        jobs.made(table)
        tags_branches_and_rollback(table)


def tags_branches_and_rollback(table: Options) -> None:
    found = connect(**table).table("default.t")
    for value in (1, 2, 3):
        found.upsert([{"k": 1, "v": value}])
    found.tags.create("two", 2, timedelta(days=1))
    two = tags.require(table_of(table), "two")
    assert (two.snapshot.id, two.retained) == (2, 86_400)
    with pytest.raises(TableError, match="has a tag 'two' already"):
        found.tags.create("two")
    with pytest.raises(NotSupportedError, match="no request that replaces a tag"):
        found.tags.replace("two", 1)
    found.branches.create("b", "two")
    with pytest.raises(TableError, match="has a branch 'b' already"):
        found.branches.create("b")
    branch = found.branches["b"]
    branch.upsert([{"k": 2, "v": 20}])
    branch.alter(add={"more": "BIGINT"})
    assert sorted(branch.scan().to_arrow()["v"].to_pylist()) == [2, 20]
    assert found.scan().to_arrow()["v"].to_pylist() == [3]
    found.branches.rename("b", "c")
    assert found.branches.names() == ["c"]
    with pytest.raises(NotSupportedError, match=r"in a REST catalog, .* notes no token"):
        found.branches.fast_forward("c", token=("ops", 1))
    with pytest.raises(NotSupportedError, match=r"in a REST catalog, .* notes no token"):
        found.rollback(tag="two", token=("ops", 1))
    found.branches.fast_forward("c")
    assert sorted(found.scan().to_arrow()["v"].to_pylist()) == [2, 20]
    found.rollback(tag="two")
    assert found.scan().to_arrow()["v"].to_pylist() == [2]
    found.branches.delete("c")
    found.tags.delete("two")
    assert (found.tags.names(), found.branches.names()) == ([], [])
    found.rollback(snapshot=1)
    assert found.scan().to_arrow()["v"].to_pylist() == [1]
    found.upsert([{"k": 1, "v": 9}])
    assert readers.read(table, "default.t")["v"].to_pylist() == [9]


def test_a_commit_to_a_table_made_anew_is_refused(table: Options) -> None:
    jobs.made(table)
    job = Write(table, [{"k": 1, "v": 1}]).run()
    jobs.catalog(table).drop_table(["default"], "t")
    jobs.made(table)
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        job.commit()
    assert table_of(table).snapshot_id is None


def test_names(table: Options) -> None:
    catalog = jobs.catalog(table)
    catalog.create_namespace(["other"], {"owner-team": "us"})
    assert catalog.load_namespace(["other"])["owner-team"] == "us"
    catalog.alter_namespace(["other"], {"a": "b"}, ["owner-team"])
    assert catalog.load_namespace(["other"]).get("a") == "b"
    with pytest.raises(NamespaceExistsError):
        catalog.create_namespace(["other"], {})
    catalog.create_table(["other"], "t", tables.new_table())
    with pytest.raises(TableExistsError):
        catalog.create_table(["other"], "t", tables.new_table())
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(["other"], cascade=False)
    catalog.rename_table(["other"], "t", ["other"], "u")
    assert catalog.list_tables(["other"]) == ["u"]
    assert catalog.drop_namespace(["other"], cascade=True)
    assert not catalog.drop_namespace(["other"], cascade=True)
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables(["other"])
    with pytest.raises(NoSuchTableError):
        catalog.load_table(["default"], "absent")


def stored(query: str, *columns: str) -> StoredView:
    said = {
        "query": query,
        "columns": [tables.column(name) for name in columns],
        "properties": {"team": "blue", "comment": "a view"},
        "current_catalog": "c",
        "current_namespace": ["default"],
        "settings": {},
        "schema_mode": "BINDING",
        "query_columns": columns,
    }
    return new_view("test.default.v", said)


def test_views(table: Options) -> None:
    catalog, home = jobs.catalog(table), ["default"]
    catalog.create_table(home, "t", tables.new_table())
    one, two = stored("SELECT k FROM t", "k"), stored("SELECT k, v FROM t", "k", "v")
    catalog.set_view(home, "v", one, "create")
    shown = catalog.load_view(home, "v")
    assert replace(shown, name=one.name) == one
    with pytest.raises(TableExistsError, match=r"view .*\.default\.v exists"):
        catalog.set_view(home, "v", two, "create")
    catalog.set_view(home, "v", two, "create_or_replace")
    assert catalog.load_view(home, "v").query == two.query
    assert (catalog.list_views(home), catalog.list_tables(home)) == (["v"], ["t"])
    with pytest.raises(TableExistsError, match=r"view .*\.default\.v exists"):
        catalog.create_table(home, "v", tables.new_table())
    with pytest.raises(TableExistsError, match=r"table .*\.default\.t exists"):
        catalog.set_view(home, "t", one, "create_or_replace")
    with pytest.raises(NoSuchTableError, match="is a table"):
        catalog.load_view(home, "t")
    with pytest.raises(NoSuchTableError, match="is a view"):
        catalog.load_table(home, "v")
    with pytest.raises(TableExistsError, match=r"table .*\.default\.t exists"):
        catalog.rename_view(home, "v", home, "t")
    with pytest.raises(TableExistsError, match=r"view .*\.default\.v exists"):
        catalog.rename_table(home, "t", home, "v")
    catalog.create_namespace(["views"], {})
    catalog.rename_view(home, "v", ["views"], "w")
    assert (catalog.list_views(home), catalog.list_views(["views"])) == ([], ["w"])
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(["views"], cascade=False)
    with pytest.raises(NoSuchTableError, match=r"view .* does not exist"):
        catalog.set_view(home, "v", one, "replace")
    assert catalog.drop_view(["views"], "w")
    assert not catalog.drop_view(["views"], "w")
    assert catalog.drop_namespace(["views"], cascade=False)


def test_staged_tables(table: Options) -> None:
    catalog = jobs.catalog(table)
    staged = catalog.stage(["default"], "t", tables.new_table(), "create_or_replace")
    catalog.abort_staged(staged)
    assert catalog.list_tables(["default"]) == []
    jobs.made(table)
    catalog.abort_staged(staged)
    assert catalog.list_tables(["default"]) == ["t"]
    with pytest.raises(NotSupportedError, match="INSERT OVERWRITE it"):
        catalog.stage(["default"], "t", tables.new_table(), "create_or_replace")
    with pytest.raises(NotSupportedError, match="its schemas are the server's"):
        rescale.check_rescalable(table_of(table))


def comment(name: str, text: str) -> Change:
    return {"change": "update_column_comment", "name": [name], "comment": text}


STRUCT = {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True}]}
MAP = {"type": "map", "keyType": STRUCT, "valueType": "integer", "valueContainsNull": True}
ALTERED: list[list[Change]] = [
    [add("d", "string", comment="new", position={"first": ""}), add("e", position={"after": "k"})],
    [add("s", STRUCT), add("l", {"type": "array", "elementType": STRUCT, "containsNull": True})],
    [add(["s", "y"], "string"), add(["l", "element", "y"], "string", position={"first": ""})],
    [rename("v", "w"), put("fields.w.ignore-retract", "true")],
    [widen("w", "long"), null("w", True), comment("w", "wide"), comment("e", "")],
    [widen(["s", "x"], "long"), rename(["s", "x"], "z"), remove(["l", "element", "x"])],
    [
        move("e", first=""),
        move("d", after="w"),
        put("comment", "a table"),
        put("keyfold.tag.a", ""),
    ],
    [default("w", "7", default_value=literal(7, "integer"))],
    [rename("w", "v"), drop("keyfold.tag.a"), drop("comment"), remove("d")],
    [default("v", None)],
]


def test_alter_makes_what_it_makes_in_a_folder(table: Options, tmp_path: Path) -> None:
    """Statement by statement, with ids of fields and all that the files of schemas hold."""
    options = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}
    columns = tables.column("k", "long"), tables.column("v", "integer")
    new = tables.new_table(*columns, **options)
    found = []
    for catalog in (jobs.catalog(table), tables.catalog(tmp_path)):
        catalog.create_table(["default"], "t", new)
        for changes in ALTERED:
            catalog.alter_table(["default"], "t", changes)
        made = catalog.load_table(["default"], "t")
        found.append([as_json(made.schemas.read(n)) for n in sorted(made.schemas.ids())])
    for theirs, ours in zip(*found, strict=True):
        theirs.pop("timeMillis"), ours.pop("timeMillis"), theirs["options"].pop("path", None)
        assert theirs == ours


def test_alters_that_the_server_would_take_otherwise(table: Options) -> None:
    catalog = jobs.catalog(table)
    options = {"merge_engine": "aggregation", "fields__s__aggregate_function": "last_value"}
    columns = tables.column("k", "long"), tables.column("s", STRUCT), tables.column("m", MAP)
    new = tables.new_table(*columns, **options)
    catalog.create_table(["default"], "t", new)
    for changes, text in (
        ([rename(["s", "x"], "y")], "options that name s another meaning"),
        ([move(["s", "x"], first="")], "s.x: a field inside a column can't be moved"),
        ([add(["m", "key", "y"])], "m.key.y: the key of a MAP can't be changed"),
    ):
        with pytest.raises(NotSupportedError, match=f"{text}.*through a REST catalog|{text}"):
            catalog.alter_table(["default"], "t", changes)
    assert table_of(table).layout.schema_id == 0


def test_a_wrong_token_is_not_shown(options: Options) -> None:
    with pytest.raises(TableError, match="look at uri, warehouse and token") as raised:
        jobs.catalog(options | {"token": "another-secret"}).list_namespaces()
    assert "another-secret" not in str(raised.value)


def test_a_server_that_hands_out_data_tokens(tmp_path: Path) -> None:
    """Paimon's own, whose tokens mean nothing to a folder."""
    with rest_server.running(tmp_path, data_token__enabled="true") as found:
        catalog = jobs.catalog(found)
        catalog.create_namespace(["default"], {})
        jobs.made(found)
        Write(found, [{"k": 1, "v": 1}]).run().commit()
        assert rows_of(table_of(found)) == {1: 1}
        uuid = table_of(found).uuid
        assert len(data_tokens.of_table(found, "default", "t", uuid)) > len(found)


def test_sql(spark: SparkSession, options: Options, tmp_path: Path) -> None:
    spark.conf.set(CATALOG, "keyfold.spark.KeyfoldCatalog")
    for name, value in options.items():
        spark.conf.set(f"{CATALOG}.{name}", value)
    spark.sql("CREATE NAMESPACE server.sql")
    create_keyed(spark, "server.sql.t", "k BIGINT, v STRING", bucket=2)
    spark.sql("INSERT INTO server.sql.t VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO server.sql.t VALUES (2, 'c')")
    spark.sql("DELETE FROM server.sql.t WHERE k = 1")
    assert [tuple(row) for row in spark.table("server.sql.t").collect()] == [(2, "c")]
    spark.sql("ALTER TABLE server.sql.t ADD COLUMN n INT DEFAULT 7")
    spark.sql("ALTER TABLE server.sql.t RENAME COLUMN v TO w")
    spark.sql("INSERT INTO server.sql.t (k, w) VALUES (3, 'd')")
    found = spark.sql("SELECT k, w, n FROM server.sql.t ORDER BY k").collect()
    assert [tuple(row) for row in found] == [(2, "c", 7), (3, "d", 7)]
    spark.sql("ALTER TABLE server.sql.t RENAME COLUMN w TO v")
    spark.sql("DELETE FROM server.sql.t WHERE k = 3")
    spark.sql(
        "CREATE TABLE server.sql.copy TBLPROPERTIES ('primary-key' = 'k') AS "
        "SELECT k, v FROM server.sql.t"
    )
    assert spark.table("server.sql.copy").count() == 1
    for query in ("SELECT k AS n FROM server.sql.t", "SELECT v, k FROM server.sql.t"):
        spark.sql(f"CREATE OR REPLACE VIEW server.sql.v AS {query}")
    spark.sql("ALTER VIEW server.sql.v SET TBLPROPERTIES ('team' = 'blue')")
    assert [tuple(row) for row in spark.table("server.sql.v").collect()] == [("c", 2)]
    text = "\n".join(
        str(row)
        for statement in (
            "EXPLAIN EXTENDED SELECT * FROM",
            "DESCRIBE EXTENDED",
            "SHOW CREATE TABLE",
        )
        for row in spark.sql(f"{statement} server.sql.t").collect()
    )
    assert rest_server.TOKEN not in text
    spark.sql("DROP NAMESPACE server.sql CASCADE")
