"""ALTER TABLE as Spark asks for it, after it has looked at the table, and options of writers that
make one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import KeyfoldError
from keyfold.questions.catalog import alter_table, check_given, table_options
from tests.storage import tables


def test_a_column_that_another_job_has_added_since(tmp_path: Path) -> None:
    """Two writers need one column at once: the second goes on, if it is the same."""
    tables.table(tmp_path)

    def ask(*changes: dict[str, Any]) -> dict[str, Any]:
        return alter_table(
            {
                "catalog": {"name": "test", "options": {"warehouse": str(tmp_path)}},
                "ident": {"namespace": ["default"], "table": "t"},
                "changes": changes,
            }
        )

    struct = {"name": "x", "type": "integer", "nullable": True, "metadata": {}}
    number = {"change": "add_column", "name": ["n"], "type": "integer"}
    whole = {**number, "name": ["s"], "type": {"type": "struct", "fields": [struct]}}
    inner = {**number, "name": ["s", "y"], "type": "string"}
    first = ask(number, whole, inner)
    again = ask(inner)
    assert again["handle"]["schema_id"] == first["handle"]["schema_id"]
    both = ask(number, {**number, "name": ["m"], "type": "long"})
    names = [column["name"] for column in both["columns"]]
    assert names == [*(column["name"] for column in first["columns"]), "m"]
    for odd in ({"type": "long"}, {"comment": "mine"}, {"nullable": False}):
        with pytest.raises(KeyfoldError, match="column n"):
            ask({**number, **odd})
    value = {"literal": "5", "type": "integer"}
    ask({**number, "name": ["d"], "default": "5", "default_value": value})
    with pytest.raises(KeyfoldError, match="column d"):
        ask({**number, "name": ["d"]})


def test_a_table_that_a_writer_makes_has_its_write_only(tmp_path: Path) -> None:
    """A write to one that is there has it for itself."""
    given = {"Write-Only": "true", "bucket": "2", "merge_mode": "overwrite"}
    options = table_options({"table": "t", "options": given})
    assert options == {"Write-Only": "true", "bucket": "2"}
    found = tables.table(tmp_path, tables.new_table(bucket="2"))
    catalog = {"name": "test", "options": {"warehouse": str(tmp_path)}}
    asked = {"catalog": catalog, "table": found.handle, "partitioning": []}
    check_given({**asked, "properties": options})
    with pytest.raises(KeyfoldError, match="has bucket = 2"):
        check_given({**asked, "properties": {**options, "bucket": "3"}})
