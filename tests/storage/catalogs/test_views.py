"""Views of a warehouse: stored, found, replaced, renamed, dropped; they share names with tables."""

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.errors import (
    CorruptDataError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotSupportedError,
    TableError,
    TableExistsError,
)
from keyfold.storage.catalogs.views import StoredView, from_json, new_view, to_json
from tests.storage.tables import catalog, column, new_table

HOME = ["default"]
SAID: dict[str, Any] = {
    "query": "SELECT id AS number, v FROM t",
    "columns": [column("number", "integer"), column("word", "char(3)") | {"comment": "three"}],
    "properties": {"team": "blue", "comment": "two columns", "owner": "me"},
    "current_catalog": "keyfold",
    "current_namespace": ["shop", "or another"],
    "settings": {"spark.sql.ansi.enabled": "false"},
    "schema_mode": "BINDING",
    "query_columns": ["id", "v"],
}


def view(
    query: str = "SELECT 1 AS number, 'a' AS word", name: str = "test.default.v"
) -> StoredView:
    return new_view(name, SAID | {"query": query})


def test_a_view_is_stored_as_it_was_made(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    ours.set_view(HOME, "v", view(), "create")
    assert ours.load_view(HOME, "v") == view()
    assert ours.list_views(HOME) == ["v"]
    assert ours.list_tables(HOME) == []
    stored = json.loads((tmp_path / "default.db/.views/v.json").read_text())
    assert stored["dialects"] == {"spark": stored["query"]}
    assert stored["fields"][1] == {
        "id": 1,
        "name": "word",
        "type": "CHAR(3)",
        "description": "three",
    }
    assert stored["comment"] == "two columns"
    assert stored["options"]["team"] == "blue"
    assert "comment" not in stored["options"]


def test_a_view_of_another_engine_counts_its_columns_by_place() -> None:
    plain = {key: text for key, text in to_json(view()).items() if key != "comment"}
    found = from_json("c.s.v", "c", "s", plain | {"options": {"team": "red"}, "dialects": {}})
    by_place = "SELECT * FROM (\n{}\n) AS `v`(`number`, `word`)"
    assert found.query == by_place.format("SELECT 1 AS number, 'a' AS word")
    said = plain | {"options": {}, "dialects": {"spark": "SELECT 1, 2 -- two columns\n;\n"}}
    of_lines = from_json("c.s.v", "c", "s", said)
    assert of_lines.query == by_place.format("SELECT 1, 2 -- two columns\n")
    assert (found.current_catalog, found.current_namespace) == ("c", ("s",))
    assert found.query_columns == ("number", "word")
    assert found.properties == {"team": "red"}


def test_a_namespace_is_no_path(tmp_path: Path) -> None:
    """Views of other warehouses are not reached by the name of a namespace."""
    catalog(tmp_path / "two").set_view(HOME, "v", view(), "create")
    ours, beside = catalog(tmp_path / "one"), ["../two/default"]
    ours.set_view(HOME, "own", view(), "create")
    assert not ours.drop_view(beside, "v")
    with pytest.raises(NoSuchTableError, match="does not exist"):
        ours.load_view(beside, "v")
    with pytest.raises(NoSuchTableError, match="does not exist"):
        ours.rename_view(beside, "v", HOME, "v")
    assert catalog(tmp_path / "two").load_view(HOME, "v") == view()


def test_replacing_and_dropping(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    with pytest.raises(NoSuchTableError, match=r"view test\.default\.v does not exist"):
        ours.set_view(HOME, "v", view(), "replace")
    ours.set_view(HOME, "v", view(), "create_or_replace")
    with pytest.raises(TableExistsError, match=r"view test\.default\.v exists"):
        ours.set_view(HOME, "v", view(), "create")
    ours.set_view(HOME, "v", view("SELECT 2"), "replace")
    assert ours.load_view(HOME, "v").query == "SELECT 2"
    assert ours.drop_view(HOME, "v")
    assert not ours.drop_view(HOME, "v")
    with pytest.raises(NoSuchTableError, match=r"view test\.default\.v does not exist$"):
        ours.load_view(HOME, "v")


def test_renaming(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    ours.create_namespace(["shop"], {})
    for name in ("v", "w"):
        ours.set_view(HOME, name, view(f"SELECT '{name}'"), "create")
    with pytest.raises(TableExistsError, match=r"view test\.default\.w exists"):
        ours.rename_view(HOME, "v", HOME, "w")
    with pytest.raises(NoSuchNamespaceError):
        ours.rename_view(HOME, "v", ["nowhere"], "v")
    ours.rename_view(HOME, "v", ["shop"], "x")
    assert ours.list_views(HOME) == ["w"]
    assert ours.load_view(["shop"], "x").query == "SELECT 'v'"
    with pytest.raises(NoSuchTableError, match=r"view test\.default\.v does not exist"):
        ours.rename_view(HOME, "v", HOME, "y")


def test_a_view_and_a_table_share_their_names(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    ours.set_view(HOME, "v", view(), "create")
    ours.create_table(HOME, "t", new_table())
    for mode in ("create", "create_or_replace"):
        with pytest.raises(TableExistsError, match=r"table test\.default\.t exists"):
            ours.set_view(HOME, "t", view(), mode)
        with pytest.raises(TableExistsError, match=r"view test\.default\.v exists"):
            ours.stage(HOME, "v", new_table(), mode)
    with pytest.raises(NoSuchTableError, match=r"test\.default\.t is a table"):
        ours.set_view(HOME, "t", view(), "replace")
    with pytest.raises(TableExistsError, match=r"view test\.default\.v exists"):
        ours.rename_table(HOME, "t", HOME, "v")
    with pytest.raises(TableExistsError, match=r"table test\.default\.t exists"):
        ours.rename_view(HOME, "v", HOME, "t")
    with pytest.raises(NoSuchTableError, match=r"test\.default\.v is a view"):
        ours.load_table(HOME, "v")
    with pytest.raises(NoSuchTableError, match=r"test\.default\.t is a table"):
        ours.load_view(HOME, "t")
    assert not ours.drop_table(HOME, "v")
    assert not ours.drop_view(HOME, "t")
    assert (ours.list_tables(HOME), ours.list_views(HOME)) == (["t"], ["v"])


def test_a_view_that_comes_while_a_query_fills_the_table(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    staged = ours.stage(HOME, "v", new_table(), "create_or_replace")
    ours.set_view(HOME, "v", view(), "create")
    with pytest.raises(TableExistsError, match=r"view test\.default\.v exists"):
        ours.commit_staged(staged)
    assert ours.list_tables(HOME) == []
    assert not Path(staged.location).exists()


def test_a_table_counts_where_both_are(tmp_path: Path) -> None:
    """As when another engine, which does not look for views, makes it."""
    ours = catalog(tmp_path)
    ours.create_table(HOME, "t", new_table())
    ours.set_view(HOME, "v", view(), "create")
    (tmp_path / "default.db/.views/v.json").rename(tmp_path / "default.db/.views/t.json")
    assert ours.list_views(HOME) == []
    assert ours.load_table(HOME, "t").layout.name == "test.default.t"
    with pytest.raises(NoSuchTableError, match="is a table"):
        ours.load_view(HOME, "t")
    assert not ours.drop_view(HOME, "t")


def test_a_namespace_with_views_is_not_empty(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    ours.create_namespace(["shop"], {})
    ours.set_view(["shop"], "v", view(), "create")
    with pytest.raises(NamespaceNotEmptyError):
        ours.drop_namespace(["shop"], cascade=False)
    assert ours.drop_namespace(["shop"], cascade=True)
    ours.create_namespace(["shop"], {})
    assert ours.list_views(["shop"]) == []
    ours.set_view(["shop"], "v", view(), "create")
    ours.drop_view(["shop"], "v")
    (tmp_path / "shop.db/.views/.tmp-left").write_text("by a job that was killed")
    assert ours.drop_namespace(["shop"], cascade=False)


@pytest.mark.parametrize("name", ["../t", "a.b", "", "x" * 300, "v$files", ".hidden", "a/b"])
def test_names_that_no_view_has(tmp_path: Path, name: str) -> None:
    ours = catalog(tmp_path)
    with pytest.raises(TableError, match="view name"):
        ours.set_view(HOME, name, view(), "create")
    with pytest.raises(NoSuchTableError, match="view"):
        ours.load_view(HOME, name)
    assert not ours.drop_view(HOME, name)


def test_what_is_refused() -> None:
    interval = [column("i", "interval day to second")]
    with pytest.raises(NotSupportedError, match=r"view c\.s\.v, column i: .*INTERVAL.*; CAST it"):
        new_view("c.s.v", SAID | {"columns": interval})
    with pytest.raises(TableError, match=r"keyfold\.view\.x"):
        new_view("c.s.v", SAID | {"properties": {"keyfold.view.x": "1"}})


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"fields": [{}], "query": "SELECT 1"}'])
def test_a_damaged_file_is_named_and_can_be_dropped(tmp_path: Path, text: str) -> None:
    ours = catalog(tmp_path)
    ours.set_view(HOME, "v", view(), "create")
    (tmp_path / "default.db/.views/v.json").write_text(text)
    with pytest.raises(CorruptDataError, match=r"view test\.default\.v: its file .*v\.json"):
        ours.load_view(HOME, "v")
    assert ours.drop_view(HOME, "v")


def _make(folder: str, number: int, barrier: Any, told: Any) -> None:
    barrier.wait()
    try:
        catalog(Path(folder)).set_view(HOME, "v", view(f"SELECT {number}"), "create")
    except TableExistsError:
        return
    told.put(number)


def test_one_of_many_jobs_makes_a_view(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, told = context.Barrier(6), context.Queue()
    jobs = [context.Process(target=_make, args=(str(tmp_path), n, barrier, told)) for n in range(6)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    won = told.get(timeout=10)
    assert told.empty()
    assert catalog(tmp_path).load_view(HOME, "v").query == f"SELECT {won}"


def test_the_python_door(tmp_path: Path) -> None:
    warehouse = keyfold.connect(tmp_path / "w")
    below = catalog(tmp_path / "w")
    below.create_namespace(["shop"], {})
    below.set_view(["shop"], "v", view(), "create")
    assert warehouse.views("shop") == ["v"]
    found = warehouse.view("shop.v")
    assert found.query == view().query
    assert found.schema.names == ["number", "word"]
    with pytest.raises(NoSuchTableError, match=r"keyfold\.shop\.v is a view; .*catalog\.view"):
        warehouse.table("shop.v")
    assert warehouse.drop_view("shop.v")
    assert warehouse.views("shop") == []
    with pytest.raises(NoSuchNamespaceError):
        warehouse.views("nowhere")
