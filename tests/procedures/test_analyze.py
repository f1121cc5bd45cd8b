"""analyze: which columns Spark is asked about."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import TableError
from tests.procedures.called import Caller, called
from tests.storage import tables
from tests.storage.tables import column, new_table


class Asked(Caller):
    """A Spark that counts no rows, and remembers what it was asked."""

    columns: list[str]

    def analyzed(self, columns: list[str]) -> Mapping[str, Any]:
        self.columns = columns
        return {"rows": 0, "columns": []}


LIST = {"type": "array", "elementType": "integer", "containsNull": True}


@pytest.mark.parametrize(
    ("columns", "asked"),
    [(None, ["k", "Name"]), (" name, k,", ["Name", "k"]), ("Name", ["Name"])],
)
def test_columns(tmp_path: Path, columns: str | None, asked: list[str]) -> None:
    caller = Asked()
    table = tables.table(tmp_path, new_table(column("k"), column("Name"), column("l", LIST)))
    called(table, "analyze", caller=caller, columns=columns)
    assert caller.columns == asked


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("k, nothing", "table test.default.t has no column nothing; it has k, l$"),
        ("L", r"column L of table test.default.t is of type ARRAY<INT>; .* leave it out"),
    ],
)
def test_refusals(tmp_path: Path, columns: str, words: str) -> None:
    table = tables.table(tmp_path, new_table(column("k"), column("l", LIST)))
    with pytest.raises(TableError, match=words):
        called(table, "analyze", caller=Asked(), columns=columns)
