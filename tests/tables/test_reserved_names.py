"""Columns named as those that changes are shown with: refused, and a table of others is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import keyfold
from keyfold import NotSupportedError, TableError
from keyfold.changelog.views import CHANGE, TIME, VERSION
from keyfold.tables.table import Table


def of_others(folder: Path, name: str) -> Table:
    """A table whose second column has that name, as another writer may have made it."""
    keyfold.connect(str(folder)).create_table("t", {"k": "INT", "c": "INT"}, ["k"])
    schema = folder / "default.db" / "t" / "schema" / "schema-0"
    text = schema.read_text(encoding="utf-8")
    assert text.count('"c"') == 1
    schema.write_text(text.replace('"c"', f'"{name}"'), encoding="utf-8")
    table = keyfold.connect(str(folder)).table("t")
    table.upsert([{"k": 1, name: 10}])
    return table


@pytest.mark.parametrize("name", [CHANGE, VERSION, TIME])
def test_a_new_column_has_another_name(tmp_path: Path, name: str) -> None:
    catalog = keyfold.connect(str(tmp_path))
    with pytest.raises(TableError, match=f"{name} cannot be used"):
        catalog.create_table("t", {"k": "INT", name: "INT"}, ["k"])
    table = catalog.create_table("t", {"k": "INT", "c": "INT"}, ["k"])
    with pytest.raises(TableError, match=f"{name} cannot be used"):
        table.alter(add={name: "INT"})
    with pytest.raises(TableError, match=f"{name} cannot be used"):
        table.alter(rename={"c": name})


@pytest.mark.parametrize("view", ["changes", "audit_log", "rows", "binlog"])
@pytest.mark.parametrize("name", [VERSION, TIME])
def test_changes_of_a_table_of_others_say_what_to_do(tmp_path: Path, name: str, view: str) -> None:
    table = of_others(tmp_path, name)
    assert table.scan().to_pylist() == [{"k": 1, name: 10}]
    with pytest.raises(NotSupportedError, match=f"RENAME COLUMN {name} TO"):
        table.changes(view=view)
    table.alter(add={"other": "INT"})
    table.alter(rename={name: "c"})
    shown = table.changes(view=view, columns=["c"]).to_pylist()
    assert shown in ([{"c": 10}], [{"c": [10]}])
