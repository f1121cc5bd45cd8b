"""What is declared of procedures is whole, and arguments reach them as they are declared."""

from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import TableError
from keyfold.procedures import procedures
from keyfold.procedures.declare import CONDITION, OPTIONS, Procedure
from tests.procedures.called import called
from tests.storage import tables

TYPES = {"STRING", "INT", "BIGINT", "BOOLEAN", "TIMESTAMP", OPTIONS, CONDITION, "TABLE_NAME"}


@pytest.mark.parametrize("procedure", procedures().values(), ids=lambda one: one.name)
def test_a_declaration_is_whole(procedure: Procedure) -> None:
    assert procedure.purpose
    assert procedure.doc.endswith(".")
    assert procedure.schema.names == list(procedure.result)
    assert {one.type for one in procedure.parameters} <= TYPES
    assert all(one.doc for one in procedure.parameters)
    taken = list(signature(procedure.function).parameters)
    assert taken[1:] == [one.name for one in procedure.parameters]


@pytest.mark.parametrize(
    ("procedure", "arguments", "said"),
    [
        ("create_tag", {}, "create_tag: argument tag is missing, or NULL"),
        ("rename_tag", {"tag": "a"}, "argument target_tag is missing"),
        ("compact_manifest", {"options": "num-levels"}, "holds 'num-levels'; expected name=value"),
        (
            "create_tag",
            {"tag": "a", "time_retained": "x"},
            "time_retained: expected a duration.*found 'x'",
        ),
        ("rollback", {"tag": "a", "snapshot": 1}, "expected one of version, snapshot and tag"),
    ],
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, procedure: str, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(TableError, match=said):
        called(tables.table(tmp_path), procedure, **arguments)


def test_options_are_a_map_or_a_text(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    for options in ({"nope": "1"}, "nope=1", "num-levels = 3, nope=1"):
        with pytest.raises(TableError, match="nope"):
            called(found, "compact_manifest", options=options)
