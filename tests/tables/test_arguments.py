"""Arguments of the Python door that make no sense: each ends in one of keyfold's errors, or does
what it says. `KEYFOLD_ARGUMENTS=20000 pytest …` tries more.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyfold
from keyfold import KeyfoldError, TableError
from keyfold.tables.connection import Catalog
from keyfold.tables.table import Table

EXAMPLES = int(os.environ.get("KEYFOLD_ARGUMENTS", "150"))
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 10**40, -(10**40), 2.5, float("nan"), float("inf"), Decimal("1.5"),
    Fraction(1, 3), "", " ", "k", "K", "nonesuch", "\0", "\ud800", "a" * 300, "../..", "1", "t",
    "k = 1", "k = ", "(" * 3000, "NOT " * 3000, "2020-01-01", "2020-01-01T00:00:00Z", b"k", [],
    ["k"], ["K", "k"], [1], [None], [["k"]], {}, {"k": 1}, {"k": None}, {"K": "x"}, {1: 2},
    {"k": 10**40}, {"k": [1]}, {"nonesuch": 1}, {"k": "INT"}, {"v": "STRING DEFAULT 5"},
    {"bucket": 5}, {"bucket": None}, [{"k": 1, "v": "x"}], [{}], [{"v": 1}], [5], (), object(),
    pa.table({"k": [1]}), pa.table({}), pa.array([1]), pa.schema([("k", pa.int32())]),
    np.array([1]), np.int64(3), datetime(2020, 1, 1), datetime(9999, 12, 31, tzinfo=timezone.utc),
    date(2020, 1, 1), timedelta(days=10**8), timedelta(-1), pc.field("k") == 1,
    pc.field("nonesuch") == 1, pc.field("k") + 1, Path(), Path("nonesuch"), int, len, range(3),
)  # fmt: skip
OF_TABLE = (
    "alter", "scan", "changes", "rollback", "get", "get_many", "prefix", "upsert", "overwrite",
    "delete", "compact", "rescale", "expire", "expire_partitions", "remove_orphans",
    "update", "truncate", "transaction",
)  # fmt: skip
OF_HELD = ("create", "replace", "rename", "delete", "fast_forward")
OF_CATALOG = (
    "create_namespace",
    "drop_namespace",
    "tables",
    "table",
    "create_table",
    "rename_table",
)


def doors(catalog: Catalog, table: Table) -> list[tuple[str, Callable[..., Any]]]:
    """What is called, with its name."""
    held = {"": table, "tags.": table.tags, "branches.": table.branches, "catalog.": catalog}
    names = {"": OF_TABLE, "tags.": OF_HELD, "branches.": OF_HELD, "catalog.": OF_CATALOG}
    found = [
        (place + name, getattr(one, name))
        for place, one in held.items()
        for name in names[place]
        if hasattr(one, name)
    ]
    return [*found, ("connect", keyfold.connect)]


def arguments(function: Callable[..., Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the function's arguments, and all that it needs."""
    needed, other = {}, {}
    for name, one in inspect.signature(function).parameters.items():
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            continue
        (needed if one.default is one.empty else other)[name] = st.sampled_from(ODD)
    return st.fixed_dictionaries(needed, optional=other)


def consumed(found: Any) -> None:
    """Read it, if it is read when it is asked."""
    if hasattr(found, "to_arrow"):
        found.to_arrow()
        found.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A warehouse; paths such as `../..` stay below the folder of the test."""
    top = tmp_path_factory.mktemp("odd")
    here = top / "some" / "where"
    here.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(here)
    yield top / "warehouse"
    os.chdir(before)


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_nothing_but_errors_of_keyfold(folder: Path, data: st.DataObject) -> None:
    catalog = keyfold.connect(str(folder), threads=1)
    catalog.drop_table("t")
    table = catalog.create_table("t", {"k": "INT", "v": "STRING"}, ["k"])
    table.upsert([{"k": 1, "v": "x"}])
    found = doors(catalog, table)
    label, function = data.draw(st.sampled_from(found))
    given_ = data.draw(arguments(function))
    try:
        consumed(function(**given_))
    except KeyfoldError as error:
        told = str(error)
    except Exception as error:
        raise AssertionError(f"{label}({given_})") from error
    else:
        return
    assert not re.search(r"(Key|Type|Value|Attribute|Overflow|Index)Error", told)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"limit": "5"},
            "scan of table keyfold.default.t: limit is the text '5'; expected a whole",
        ),
        ({"limit": True}, "limit is bool True"),
        ({"snapshot": 2**63}, "snapshot is int 9223372036854775808"),
        (
            {"columns": "k"},
            "columns is the text 'k'; expected a list of texts or None, such as ['k']",
        ),
        ({"columns": ["k", 5]}, "columns is list"),
        ({"tag": 5}, "tag is int 5; expected a text"),
    ],
)
def test_an_argument_is_named(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    table = keyfold.connect(str(tmp_path)).create_table("t", {"k": "INT"}, ["k"])
    with pytest.raises(TableError, match=re.escape(words)):
        table.scan(**arguments)


def test_values_of_numpy_and_lists_of_any_kind_are_taken(tmp_path: Path) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT"}, ("k",))
    table.upsert([{"k": 1}, {"k": 2}])
    shown = table.scan(columns={"k": 0}.keys(), limit=np.int64(1), snapshot=np.int32(1))
    assert shown.to_arrow().num_rows == 1
