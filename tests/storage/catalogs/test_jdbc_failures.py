"""JDBC catalogs in an SQLite file when something fails or happens at once: no table is lost, and
none is left that nobody can name.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keyfold.errors import (
    NoSuchTableError,
    StoreError,
    TableError,
    TableExistsError,
)
from keyfold.storage.catalogs.namespaces import Namespaces
from keyfold.storage.jdbc import database
from keyfold.storage.jdbc.address import address_of
from keyfold.stores import folders
from tests.storage.catalogs.test_jdbc import HOME, opened, rows
from tests.storage.tables import new_table

LONG = {"keyfold.tag.note": "x" * 1001}


@contextmanager
def read(folder: Path) -> Iterator[None]:
    """A context with an open query, as Paimon's Java leaves one: nobody else commits."""
    connection = sqlite3.connect(folder / "names.db")
    cursor = connection.execute("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 1 FROM paimon_tables")
    cursor.fetchone()
    try:
        yield
    finally:
        cursor.close()
        connection.close()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_WAIT_SECONDS", 0.1)


@pytest.mark.usefixtures("hasty")
def test_a_rename_that_can_not_be_committed_moves_nothing(tmp_path: Path) -> None:
    ours = opened(tmp_path)
    ours.create_table(HOME, "t", new_table())
    with read(tmp_path), pytest.raises(StoreError, match="database is locked"):
        ours.rename_table(HOME, "t", HOME, "u")
    assert ours.load_table(HOME, "t").table == "t"
    ours.rename_table(HOME, "t", HOME, "u")
    assert ours.load_table(HOME, "u").table == "u"


@pytest.mark.usefixtures("hasty")
def test_a_table_that_can_not_be_committed_leaves_no_folder(tmp_path: Path) -> None:
    ours = opened(tmp_path)
    with read(tmp_path), pytest.raises(StoreError, match="database is locked"):
        ours.create_table(HOME, "t", new_table())
    ours.create_table(HOME, "t", new_table())
    assert ours.load_table(HOME, "t").table == "t"


def test_options_too_long_for_the_database_change_nothing(tmp_path: Path) -> None:
    ours = opened(tmp_path)
    with pytest.raises(TableError, match="sync-all-properties = false keeps options out"):
        ours.create_table(HOME, "t", new_table(**LONG))
    ours.create_table(HOME, "t", new_table())
    change = {"change": "set_property", "key": "keyfold.tag.note", "value": "x" * 1001}
    with pytest.raises(TableError, match="its value 1001, expected up to 255 and 1000"):
        ours.alter_table(HOME, "t", [change])
    assert ours.load_table(HOME, "t").layout.schema_id == 0
    assert len(rows(tmp_path, "paimon_table_properties")) == 3


@pytest.mark.parametrize("if_not_exists", [True, False])
def test_a_table_that_another_makes_at_once_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, if_not_exists: bool
) -> None:
    """The other has moved its folder, and not yet committed its row."""
    ours = opened(tmp_path)
    is_moved, goes_on = threading.Event(), threading.Event()
    move = folders.move

    def slow(source: str, target: str) -> bool:
        done = move(source, target)
        is_moved.set()
        return goes_on.wait(60) and done

    monkeypatch.setattr(folders, "move", slow)
    other = threading.Thread(target=lambda: ours.create_table(HOME, "t", new_table()))
    other.start()
    is_moved.wait(60)
    monkeypatch.setattr(folders, "move", move)
    threading.Timer(0.2, goes_on.set).start()
    if if_not_exists:
        assert ours.create_table(HOME, "t", new_table(), if_not_exists=True).table == "t"
    else:
        with pytest.raises(TableExistsError):
            ours.create_table(HOME, "t", new_table())
    other.join(60)
    assert ours.list_tables(HOME) == ["t"]


def test_a_table_that_is_gone_is_not_renamed(tmp_path: Path) -> None:
    """Dropped between the look at it and the change of its row: its folder may be there still."""
    names = opened(tmp_path).namespaces  # type: ignore[attr-defined]
    gone, to = ("default", "gone"), ("default", "u")
    with pytest.raises(NoSuchTableError, match=r"default\.gone"), names.renaming(gone, to):
        pytest.fail("its folder would be moved")


@pytest.mark.parametrize("cascade", [True, False])
def test_a_table_that_is_made_while_its_namespace_is_dropped_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cascade: bool
) -> None:
    ours = opened(tmp_path)
    ours.create_namespace(["shop"], {"team": "blue"})
    tables = type(ours.namespaces).tables  # type: ignore[attr-defined]

    def late(names: Namespaces, name: str) -> list[str]:
        found: list[str] = tables(names, name)
        monkeypatch.undo()
        ours.create_table(["shop"], "t", new_table())
        return found

    monkeypatch.setattr(type(ours.namespaces), "tables", late)  # type: ignore[attr-defined]
    assert ours.drop_namespace(["shop"], cascade)
    assert ours.load_table(["shop"], "t").table == "t"
    assert rows(tmp_path, "paimon_database_properties") == []


def test_the_property_of_every_namespace_is_the_catalogs_own(tmp_path: Path) -> None:
    ours = opened(tmp_path)
    with pytest.raises(TableError, match="property exists of namespace shop is the catalog's own"):
        ours.create_namespace(["shop"], {"exists": "no"})
    ours.create_namespace(["shop"], {})
    for changed, unset in (({"exists": "no"}, []), ({}, ["exists"])):
        with pytest.raises(TableError, match="property exists of namespace shop"):
            ours.alter_namespace(["shop"], changed, unset)


@pytest.mark.parametrize("names", [("ssl", "sslmode"), ("sslmode", "ssl")])
def test_the_property_that_counts_does_not_depend_on_order(names: tuple[str, str]) -> None:
    """As in Java's driver: `sslmode` before `ssl`."""
    given = {f"jdbc.{name}": {"ssl": "true", "sslmode": "require"}[name] for name in names}
    assert address_of({"uri": "jdbc:postgresql://h/d", **given}).given["sslmode"] == "require"
