"""JDBC catalogs in an SQLite file: rows as Paimon's Java has them, locks, addresses, refusals."""

import shutil
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.errors import (
    EnvironmentMismatchError,
    KeyfoldError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotSupportedError,
    StoreError,
    TableError,
    TableExistsError,
)
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.catalogs.views import StoredView, new_view
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.jdbc.address import address_of
from keyfold.storage.jdbc.locks import lock_of
from keyfold.storage.table import open_handle
from tests.concurrency.processes import CONTEXT
from tests.storage.tables import column, new_table

HOME = ["default"]
SECRET = "sesame-open"
DATED = "UPDATE paimon_distributed_locks SET acquired_at = '{}-01-01 00:00:00'"


def options_of(folder: Path, **more: str) -> dict[str, str]:
    """The options of a catalog in an SQLite file; `__` in names is a dot, `_` is `-`."""
    named = {k.replace("__", ".").replace("_", "-"): v for k, v in more.items()}
    place = {"warehouse": str(folder / "lake"), "uri": f"jdbc:sqlite:{folder}/names.db"}
    return {"metastore": "jdbc"} | place | named


def opened(folder: Path, **more: str) -> Catalog:
    return open_catalog("c", options_of(folder, **more))


def rows(folder: Path, table: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "names.db") as connection:
        return sorted(connection.execute(f"SELECT * FROM {table}").fetchall())


def test_names_are_rows(tmp_path: Path) -> None:
    ours = opened(tmp_path)
    ours.create_namespace(["shop"], {"team": "blue"})
    ours.create_table(["shop"], "t", new_table(column("k"), column("p"), key="k,p", by="p"))
    assert rows(tmp_path, "paimon_tables") == [("jdbc", "shop", "t")]
    assert rows(tmp_path, "paimon_database_properties") == [
        ("jdbc", "shop", "exists", "true"),
        ("jdbc", "shop", "location", f"{tmp_path}/lake/shop.db"),
        ("jdbc", "shop", "team", "blue"),
    ]
    assert rows(tmp_path, "paimon_table_properties") == [
        ("jdbc", "shop", "t", "bucket", "2"),
        ("jdbc", "shop", "t", "bucket-key", "k"),
        ("jdbc", "shop", "t", "partition", "p"),
        ("jdbc", "shop", "t", "primary-key", "k,p"),
    ]
    ours.alter_table(
        ["shop"], "t", [{"change": "set_property", "key": "keyfold.tag.a", "value": "c"}]
    )
    assert ("jdbc", "shop", "t", "keyfold.tag.a", "c") in rows(tmp_path, "paimon_table_properties")
    ours.rename_table(["shop"], "t", HOME, "u")
    assert rows(tmp_path, "paimon_tables") == [("jdbc", "default", "u")]
    assert {row[1:3] for row in rows(tmp_path, "paimon_table_properties")} == {("default", "u")}
    assert ours.drop_table(HOME, "u")
    assert not ours.drop_table(HOME, "u")
    assert rows(tmp_path, "paimon_tables") == rows(tmp_path, "paimon_table_properties") == []


def test_catalogs_of_other_keys_share_a_database(tmp_path: Path) -> None:
    one, two = opened(tmp_path), opened(tmp_path, catalog_key="two", warehouse=f"{tmp_path}/two")
    for ours in (one, two):
        ours.create_table(HOME, "t", new_table())
    assert one.drop_table(HOME, "t")
    assert (one.list_tables(HOME), two.list_tables(HOME)) == ([], ["t"])
    apart = opened(
        tmp_path, catalog_key="two", warehouse=f"{tmp_path}/two", sync_all_properties="false"
    )
    apart.create_table(HOME, "plain", new_table())
    assert "plain" not in {row[2] for row in rows(tmp_path, "paimon_table_properties")}


def test_namespaces(tmp_path: Path) -> None:
    ours = opened(tmp_path)
    ours.create_namespace(["shop"], {"a": "1", "b": "2"})
    with pytest.raises(NamespaceExistsError):
        ours.create_namespace(["shop"], {})
    ours.alter_namespace(["shop"], {"a": "3", "c": "4"}, ["b", "none"])
    found = ours.load_namespace(["shop"])
    assert found == {"a": "3", "c": "4", "location": f"{tmp_path}/lake/shop.db"}
    assert ours.list_namespaces() == [["default"], ["shop"]]
    ours.create_table(["shop"], "t", new_table())
    with pytest.raises(NamespaceNotEmptyError):
        ours.drop_namespace(["shop"], cascade=False)
    assert ours.drop_namespace(["shop"], cascade=True)
    assert not ours.drop_namespace(["shop"], cascade=True)
    assert not (tmp_path / "lake/shop.db/t").exists()
    with pytest.raises(NoSuchNamespaceError):
        ours.list_tables(["shop"])
    with pytest.raises(NotSupportedError, match="LOCATION is not supported"):
        ours.create_namespace(["shop"], {"location": "/elsewhere"})
    with pytest.raises(TableError, match="its value 1001, expected up to 255 and 1000"):
        ours.create_namespace(["shop"], {"long": "x" * 1001})


def test_a_table_is_one_that_has_a_row(tmp_path: Path) -> None:
    """Folders and rows that a killed job, or somebody's hands, left alone."""
    ours = opened(tmp_path)
    ours.create_table(HOME, "t", new_table())
    with sqlite3.connect(tmp_path / "names.db") as connection:
        connection.execute("DELETE FROM paimon_tables")
    with pytest.raises(NoSuchTableError):
        ours.load_table(HOME, "t")
    with pytest.raises(TableError, match=r"has no row of: move the folder away, or .*sys\.repair"):
        ours.create_table(HOME, "t", new_table())
    assert not ours.drop_table(HOME, "t")
    shutil.rmtree(tmp_path / "lake/default.db/t")
    ours.create_table(HOME, "t", new_table())
    shutil.rmtree(tmp_path / "lake/default.db/t")
    with pytest.raises(TableError, match=r"no schema is found: restore its folder, or DROP TABLE"):
        ours.load_table(HOME, "t")
    assert ours.drop_table(HOME, "t")
    assert ours.list_tables(HOME) == []


def stored(query: str) -> StoredView:
    said = {
        "query": query,
        "columns": [column("k")],
        "properties": {},
        "current_catalog": "c",
        "current_namespace": HOME,
        "settings": {},
        "schema_mode": "BINDING",
        "query_columns": ["k"],
    }
    return new_view("c.default.v", said)


def test_views_are_rows(tmp_path: Path) -> None:
    ours = opened(tmp_path)
    ours.create_table(HOME, "t", new_table())
    ours.set_view(HOME, "v", stored("SELECT k FROM t"), "create")
    assert ours.load_view(HOME, "v") == stored("SELECT k FROM t")
    assert [row[:3] for row in rows(tmp_path, "paimon_views")] == [("jdbc", "default", "v")]
    with pytest.raises(TableExistsError, match="view"):
        ours.set_view(HOME, "v", stored("SELECT 1"), "create")
    ours.set_view(HOME, "v", stored("SELECT 2 AS k"), "create_or_replace")
    assert ours.load_view(HOME, "v").query == "SELECT 2 AS k"
    with pytest.raises(TableExistsError, match="view"):
        ours.create_table(HOME, "v", new_table())
    with pytest.raises(TableExistsError, match="table"):
        ours.set_view(HOME, "t", stored("SELECT 1"), "create_or_replace")
    ours.rename_view(HOME, "v", HOME, "w")
    assert ours.list_views(HOME) == ["w"]
    with sqlite3.connect(tmp_path / "names.db") as connection:
        connection.execute("UPDATE paimon_views SET view_schema = '{'")
    with pytest.raises(KeyfoldError, match=r"its row \(jdbc, default, w\) of paimon_views"):
        ours.load_view(HOME, "w")
    assert ours.drop_view(HOME, "w")
    assert not ours.drop_view(HOME, "w")


def test_a_failed_move_renames_nothing(tmp_path: Path) -> None:
    ours = opened(tmp_path)
    ours.create_table(HOME, "t", new_table())
    (tmp_path / "lake/default.db/u").mkdir()
    (tmp_path / "lake/default.db/u/file").touch()
    with pytest.raises(TableExistsError):
        ours.rename_table(HOME, "t", HOME, "u")
    assert ours.list_tables(HOME) == ["t"]
    assert ours.load_table(HOME, "t").table == "t"


def make(folder: Path, number: int, told: Any) -> None:
    """Make one table as others do at the same time, and one of our own."""
    ours = opened(folder, lock__enabled="true")
    ours.create_table(HOME, f"t{number}", new_table())
    try:
        ours.create_table(HOME, "shared", new_table())
        told.put(1)
    except TableExistsError:
        told.put(0)


def test_processes_make_tables_at_once(tmp_path: Path) -> None:
    told = CONTEXT.Queue()
    makers = [CONTEXT.Process(target=make, args=(tmp_path, n, told)) for n in range(3)]
    for maker in makers:
        maker.start()
    assert sum(told.get(timeout=60) for _ in makers) == 1
    for maker in makers:
        maker.join(60)
    found = opened(tmp_path).list_tables(HOME)
    assert found == ["shared", "t0", "t1", "t2"]
    assert rows(tmp_path, "paimon_distributed_locks") == []


def test_a_snapshot_is_published_under_the_lock(tmp_path: Path) -> None:
    """Beside engines that look for a snapshot and then write it, as Paimon's Java on S3."""
    given = options_of(tmp_path, lock__enabled="true", lock_acquire_timeout="200 ms")
    ours = keyfold.connect(catalog="c", **given)
    table = ours.create_table("t", {"k": "long"}, primary_key=["k"])
    table.upsert([{"k": 1}])
    held = "INSERT INTO paimon_distributed_locks (lock_id, expire_time_seconds) VALUES (?, 60)"
    with sqlite3.connect(tmp_path / "names.db") as connection:
        connection.execute(held, ("jdbc.default.t",))
    with pytest.raises(StoreError, match=r"jdbc\.default\.t in paimon_distributed_locks .* longer"):
        table.upsert([{"k": 2}])
    with sqlite3.connect(tmp_path / "names.db") as connection:  # it is over
        connection.execute(
            "UPDATE paimon_distributed_locks SET acquired_at = '2020-01-01 00:00:00'"
        )
    table.upsert([{"k": 3}])
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [1, 3]
    assert rows(tmp_path, "paimon_distributed_locks") == []
    found = open_catalog("c", given).load_table(HOME, "t")
    assert open_handle(found.handle, given).lock.args == ("default", "t")  # type: ignore[attr-defined]


def test_a_lock_waits_and_lets_go_of_its_own_row_only(tmp_path: Path) -> None:
    given = options_of(tmp_path, lock__enabled="true", lock_check_max_sleep="50 ms")
    opened(tmp_path, lock__enabled="true", lock_check_max_sleep="50 ms")
    lock = lock_of(given, "/lake", "default", "t")
    order: list[str] = []

    def second() -> None:
        with lock():
            order.append("second")

    with lock():
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.3)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]
    with lock(), sqlite3.connect(tmp_path / "names.db") as connection:  # another's by now
        connection.execute(
            "UPDATE paimon_distributed_locks SET acquired_at = '2099-01-01 00:00:00'"
        )
    assert len(rows(tmp_path, "paimon_distributed_locks")) == 1


def test_locks_are_those_of_object_stores_unless_said(tmp_path: Path) -> None:
    given = options_of(tmp_path)
    assert type(lock_of(given, "/lake/t", "default", "t")()).__name__ == "nullcontext"
    assert lock_of(given, "s3://lake/t", "default", "t").args  # type: ignore[attr-defined]
    off = lock_of(given | {"lock.enabled": "false"}, "s3://lake/t", "default", "t")
    assert type(off()).__name__ == "nullcontext"
    with pytest.raises(NotSupportedError, match=r"lock\.type zookeeper"):
        opened(tmp_path, lock__enabled="true", lock__type="zookeeper")
    with pytest.raises(TableError, match=r"setting lock\.enabled: expected true or false"):
        opened(tmp_path, lock__enabled="maybe")


POSTGRESQL = {"connect_timeout": "10", "port": "5432"}
ADDRESSES = [
    ("jdbc:sqlite:/a/b.db", {}, {"database": "/a/b.db"}),
    ("jdbc:sqlite:file:/a/b.db", {}, {"database": "/a/b.db"}),
    (
        "jdbc:postgresql://one:1,two/shop%20db?user=me&ssl=true",
        {"jdbc.user": "other", "jdbc.password": SECRET, "jdbc.currentSchema": "a b"},
        {
            "host": "one,two",
            "port": "1,5432",
            "dbname": "shop db",
            "user": "me",
            "sslmode": "verify-full",
            "password": SECRET,
            "connect_timeout": "10",
            "options": "-c search_path=a\\ b",
        },
    ),
    ("jdbc:postgresql:shop", {}, POSTGRESQL | {"host": "localhost", "dbname": "shop"}),
    ("jdbc:postgresql://[::1]:7/", {}, POSTGRESQL | {"host": "::1", "port": "7"}),
    (
        "jdbc:postgresql://h/d",
        {"jdbc.loginTimeout": "3"},
        {"host": "h", "port": "5432", "dbname": "d", "connect_timeout": "3"},
    ),
]


@pytest.mark.parametrize(("uri", "more", "given"), ADDRESSES, ids=lambda v: str(v)[:30])
def test_addresses(uri: str, more: dict[str, str], given: dict[str, str]) -> None:
    found = address_of({"uri": uri} | more)
    assert found.given == given
    assert SECRET not in f"{found} {found.shown}"


REFUSED = [
    ("", TableError, "needs the setting uri"),
    ("postgresql://h/d", TableError, "expected jdbc:sqlite:"),
    ("jdbc:sqlite:names.db", TableError, "the whole path of a file"),
    ("jdbc:mysql://h/d?password=" + SECRET, NotSupportedError, "jdbc:mysql are not supported"),
    ("jdbc:sqlite:/a?cache=shared", NotSupportedError, r"property jdbc\.cache is not supported"),
    ("jdbc:postgresql://h/d?x=1", NotSupportedError, r"jdbc\.x is not"),
    (
        "jdbc:postgresql://me:" + SECRET + "@h/d",
        NotSupportedError,
        r"set jdbc\.user and jdbc\.pass",
    ),
    *(
        (f"jdbc:{kind}://me:{login}@h/d", NotSupportedError, r"uri jdbc:\w+:\*\*\*: ")
        for kind in ("postgresql", "mysql")
        for login in (
            f"{SECRET}?a",
            f"a?{SECRET}",
            f"12?{SECRET}",
            f"1/{SECRET}?a",
            f"1/2?{SECRET}",
        )
    ),
]


@pytest.mark.parametrize(("uri", "kind", "text"), REFUSED, ids=lambda v: str(v)[:30])
def test_refused_addresses(tmp_path: Path, uri: str, kind: type[KeyfoldError], text: str) -> None:
    with pytest.raises(kind, match=text) as raised:
        opened(tmp_path, uri=uri)
    assert SECRET not in str(raised.value)


def test_other_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match=r"names\.db answered OperationalError: unable to open"):
        opened(tmp_path / "missing")
    with pytest.raises(TableError, match=r"catalog-kez is unknown; did you mean catalog-key\?"):
        opened(tmp_path, catalog_kez="a")
    with pytest.raises(TableError, match="has no warehouse"):
        open_catalog("c", {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/names.db"})
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(EnvironmentMismatchError, match=r"pip install 'keyfold\[postgresql\]'"):
        opened(tmp_path, uri="jdbc:postgresql://127.0.0.1:1/d")
