"""Options of tables with values that make no sense, given from Python: each ends in one of
keyfold's errors, or does what it says, and the table stays readable. `KEYFOLD_OPTION_VALUES=20000
pytest …` tries more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyfold
from keyfold import KeyfoldError
from keyfold.aggregates import aggregates
from keyfold.merge.field_options import parameters
from keyfold.options.calls import READ
from keyfold.options.column_options import FIELD_OPTIONS
from keyfold.options.declared import aliases, known
from keyfold.options.engines import engines

EXAMPLES = int(os.environ.get("KEYFOLD_OPTION_VALUES", "25"))
PYTHONS = re.compile(
    r"\b(Key|Type|Value|Attribute|Overflow|Index|Recursion|Assertion|OS|Lookup|Unicode\w*|"
    r"ZeroDivision|Arrow\w*|Name|Runtime|Arithmetic|Memory|Permission|FileNotFound)Error\b"
)
COLUMNS = {
    "k": "INT", "p": "INT", "n": "BIGINT", "d": "DOUBLE", "s": "STRING", "b": "BOOLEAN",
    "t": "TIMESTAMP", "l": "ARRAY<INT>", "m": "MAP<STRING, INT>",
    "r": "ARRAY<STRUCT<x: INT, y: STRING>>", "x": "BINARY",
}  # fmt: skip
ROWS = [
    {"k": k, "p": k % 2, "n": k, "d": 0.5, "s": "a", "l": [1, 2], "m": {"a": 1}} for k in range(6)
]
TEXTS = (
    "", " ", "x", "\0", "a\0b", "\ud800", "🙂", "π" * 10_000, "None", "null", "true", "TRUE", "0",
    "-1", "1", "2", "+3", "07", "1_000", "٣", "2147483647", "2147483648", "9" * 40, "9" * 10_000,
    "1.5", ".5", "1e400", "1e3", "nan", "inf", "-0", "0x10", "1 kb", "0 b",
    "9223372036854775807 tb", "5 lightyears", "1 ms", "99999999999 d", "k", "K", "p", "n", "s",
    "t", "b", "l", "r", "nonesuch", "n,s", "k,", ",", "n,n", "k, p", "`n`", "x,y", "a=b", "a/b",
    "../..", "$", "%s", "{}", "'", '"',
    "sum", "max", "listagg", "collect", "product", "merge_map", "nested_update", "bool_and",
    "count", "none", "input", "lookup", "full-compaction", "snapshot", "gzip", "two-hours",
    "process-time", *engines(), *aggregates(),
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**400, 0.5, 1e300, float("nan"), float("inf"),
    Decimal("1.5"), Decimal("sNaN"), Fraction(1, 3), b"1", ["k"], (), {}, {"k": 1}, object(), len,
)  # fmt: skip
COLUMN_NAMES = (*COLUMNS, "nonesuch", "N", "n,d", "", "\0", "n.x", "🙂", "a" * 10_000)
SUFFIXES = (*FIELD_OPTIONS, *parameters(), "agg", "delimiter", "nonesuch", "")


def names() -> st.SearchStrategy[str]:
    """Options that are declared, those of single columns, and names of nothing."""
    declared = (*known(), *aliases())
    fields = st.builds(
        "fields.{}.{}".format, st.sampled_from(COLUMN_NAMES), st.sampled_from(SUFFIXES)
    )
    odd = ("", " ", "\0", "🙂", "x" * 10_000, "fields.", "fields..", "keyfold.tag.x", "primary-key",
           "comment", "location", "path", "provider", "owner", "table.merge-engine")  # fmt: skip
    return st.one_of(st.sampled_from(declared), fields, st.sampled_from(odd))


VALUES = st.one_of(st.sampled_from(TEXTS), st.sampled_from(OTHERS), st.text(max_size=8))
SENSIBLE: list[dict[str, Any]] = [
    {},
    {"merge-engine": "aggregation", "fields.default-aggregate-function": "last_value"},
    {"merge-engine": "partial-update"},
    {"merge-engine": "first-row"},
    {"changelog-producer": "lookup"},
    {"sequence.field": "n"},
]


def is_refused(said: object, run: Callable[[], object]) -> bool:
    """Run it: whether it ends in an error, which is keyfold's and has a text of its own."""
    try:
        run()
    except KeyfoldError as error:
        told = str(error)
    except Exception as error:
        raise AssertionError(f"{said!r:.300}") from error
    else:
        return False
    assert not PYTHONS.search(told), f"{said!r:.300}: {told}"
    return True


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> keyfold.Catalog:
    return keyfold.connect(tmp_path_factory.mktemp("options"), threads=1)


def made(catalog: keyfold.Catalog, options: dict[str, Any]) -> keyfold.Table:
    catalog.drop_table("t")
    quick = {"bucket": "1", "snapshot.expire.execution-mode": "sync"}
    return catalog.create_table("t", COLUMNS, ["k", "p"], ["p"], options=quick | options)


@settings(max_examples=EXAMPLES)
@given(
    sensible=st.sampled_from(SENSIBLE),
    odd=st.dictionaries(names(), VALUES, min_size=1, max_size=2),
)
def test_create(catalog: keyfold.Catalog, sensible: dict[str, Any], odd: dict[str, Any]) -> None:
    options = sensible | odd
    if is_refused(options, lambda: made(catalog, options)):
        return
    table = catalog.table("t")
    written = not is_refused(options, lambda: table.upsert(ROWS))
    found = table.scan(["k", "p"]).to_pylist()
    assert len(found) == (len(ROWS) if written else 0), options


@settings(max_examples=EXAMPLES)
@given(
    sensible=st.sampled_from(SENSIBLE),
    odd=st.dictionaries(names(), VALUES, min_size=1, max_size=2),
    is_empty=st.booleans(),
)
def test_alter(
    catalog: keyfold.Catalog, sensible: dict[str, Any], odd: dict[str, Any], is_empty: bool
) -> None:
    table = made(catalog, sensible)
    if not is_empty:
        table.upsert(ROWS)
    before = sorted(table.scan(["k", "p"]).to_pylist(), key=str)
    told = table.options
    if is_refused(odd, lambda: table.alter(options=odd)):
        assert table.options == told
    assert sorted(table.scan(["k", "p"]).to_pylist(), key=str) == before, odd
    is_refused(odd, lambda: table.upsert(ROWS))
    assert len(table.scan(["k", "p"]).to_pylist()) in (len(before), len(ROWS)), odd


@settings(max_examples=EXAMPLES)
@given(
    odd=st.dictionaries(
        st.one_of(st.sampled_from((*READ.options, *READ.sparks)), names()),
        VALUES,
        min_size=1,
        max_size=2,
    ),
    data=st.data(),
)
def test_calls(catalog: keyfold.Catalog, odd: dict[str, Any], data: st.DataObject) -> None:
    table = made(catalog, data.draw(st.sampled_from(SENSIBLE)))
    table.upsert(ROWS)
    calls: list[Callable[[], object]] = [
        lambda: table.scan(options=odd).to_arrow(),
        lambda: table.compact(options=odd),
        lambda: table.expire(options=odd),
    ]
    is_refused(odd, data.draw(st.sampled_from(calls)))
    assert table.scan().to_arrow().num_rows == len(ROWS)


@pytest.mark.parametrize(
    "value", [None, b"1", ["k"], {}, 10**5000], ids=["None", "bytes", "list", "dict", "number"]
)
def test_values_without_a_text(catalog: keyfold.Catalog, value: Any) -> None:
    """They were stored as Python shows them: None as 'None'."""
    name = "fields.s.list-agg-delimiter"
    options = {"merge-engine": "aggregation", "fields.s.aggregate-function": "listagg"}
    words = f"option {name}: expected a text, a number, True or False, found "
    with pytest.raises(KeyfoldError, match=words):
        made(catalog, options | {name: value})
    if value is not None:  # which unsets an option
        with pytest.raises(KeyfoldError, match=words):
            made(catalog, options).alter(options={name: value})
    table = made(catalog, options | {name: 0.5, "target-file-size": 1 << 20, "write-only": True})
    stored = {n: table.options[n] for n in (name, "target-file-size", "write-only")}
    assert list(stored.values()) == ["0.5", "1048576", "true"]


def test_options_without_effect_are_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tuned = {"lookup.cache-file-retention": "1 h", "bucket": 1}
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT"}, ["k"], options=tuned)
    table.alter(options={"table.replication.factor": 3, "write-only": True})
    start = "NOTE: table t: options without effect here, which are stored:"
    assert [record.getMessage() for record in caplog.records] == [
        f"{start} lookup.cache-file-retention (Paimon)",
        f"{start} table.replication.factor (Fluss)",
    ]
