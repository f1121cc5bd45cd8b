"""Dictionaries of different columns: a list of them is written as if each were written alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import keyfold
from keyfold import Catalog, TableError
from keyfold.tables.rows.incoming import BATCH_ROWS
from keyfold.tables.table import Table
from tests.draws import times

VALUES = ("a", "b", "c", "d")
COLUMNS = {"k": "INT", "a": "INT", "b": "INT DEFAULT 7", "c": "INT", "d": "INT", "s": "STRING"}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "sequence.field": {"sequence.field": "c"},
    "versioned": {
        "table.merge-engine": "versioned",
        "table.merge-engine.versioned.ver-column": "c",
    },
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "functions of groups": {
        "merge-engine": "partial-update",
        "fields.c.sequence-group": "a,b",
        "fields.a.aggregate-function": "last_value",
        "fields.b.aggregate-function": "sum",
    },
    "sequence groups": {
        "merge-engine": "partial-update",
        "fields.a.sequence-group": "b",
        "fields.c.sequence-group": "d,s",
        "fields.s.aggregate-function": "listagg",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "last_value",
        "fields.b.aggregate-function": "sum",
        "fields.c.aggregate-function": "first_value",
        "fields.d.aggregate-function": "max",
        "fields.s.aggregate-function": "listagg",
    },
    "counts": {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "count",
        "fields.b.aggregate-function": "last_non_null_value",
        "fields.default-aggregate-function": "last_value",
    },
}
GROUPS = {"functions of groups": ("cab",), "sequence groups": ("ab", "cds")}
KINDS = ("+I", "+U", "-D")
EXAMPLES = times(3)  # of each engine, as each writes several tables
# Without these a stored -D fails the reads of some functions.
REMOVES = "aggregation.remove-record-on-delete"
TAKES_DELETES = {
    "partial-update": {"partial-update.remove-record-on-delete": "true"},
    "aggregation": {REMOVES: "true"},
    "counts": {REMOVES: "true"},
}


def rows(kinds: Sequence[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    small = st.none() | st.integers(0, 4)
    values = dict.fromkeys(VALUES, small) | {"s": st.none() | st.sampled_from("xyz")}
    required: dict[str, Any] = {"k": st.integers(0, 2)}
    if kinds:
        values["op"] = st.sampled_from(kinds)
    return st.lists(st.fixed_dictionaries(required, optional=values), min_size=1, max_size=6)


def _grouped(engine: str, row: dict[str, Any]) -> dict[str, Any]:
    """The row, which names all columns of a sequence group or none: parts of a group don't fold."""
    for group in GROUPS.get(engine, ()):
        if not set(group).isdisjoint(row):
            row = dict.fromkeys(group) | row
    return row


def stored(table: Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_pylist(), key=lambda row: int(row["k"]))


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return keyfold.connect(tmp_path_factory.mktemp("tables"), threads=1)


@pytest.mark.parametrize("kinds", [False, True], ids=["rows", "kinds"])
@pytest.mark.parametrize("engine", list(ENGINES))
@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_a_list_is_its_dictionaries_one_by_one(
    catalog: Catalog, engine: str, kinds: bool, data: st.DataObject
) -> None:
    options = {"write-only": "true", "bucket": "1"} | ENGINES[engine]
    columns = COLUMNS
    # There what a -D leaves depends on the commit that it is in: see docs/engines.md.
    taken = KINDS[:2] if "groups" in engine else KINDS
    if kinds:
        columns, options = COLUMNS | {"op": "STRING"}, options | {"rowkind.field": "op"}
        options |= TAKES_DELETES.get(engine, {})
    whole, alone = (_fresh(catalog, name, columns, options) for name in ("whole", "alone"))
    for _ in range(data.draw(st.integers(1, 2))):
        mode = data.draw(st.sampled_from([None, "overwrite"]))
        given_ = [_grouped(engine, row) for row in data.draw(rows(taken if kinds else ()))]
        refused = [_refusal(alone, [row], mode) for row in given_]
        if any(refused):  # a mode or kind that the engine does not take: so is the list
            assert _refusal(whole, given_, mode)
            return
        assert _refusal(whole, given_, mode) is None
        assert stored(whole) == stored(alone), given_
    whole.compact()
    assert stored(whole) == stored(alone)


@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate])
@example([[{"k": 0, "c": 3, "a": 9}], [{"k": 0, "c": 4, "s": "x"}, {"k": 0, "c": 2, "a": 2}]])
@example([[{"k": 0, "c": 3, "a": 9}], [{"k": 0, "a": 2}, {"k": 0, "c": 2, "s": "x"}]])
@given(st.lists(rows(()), min_size=2, max_size=3))
def test_parts_of_a_sequence_group(catalog: Catalog, jobs: list[list[dict[str, Any]]]) -> None:
    """A row that is late in its own list touches nothing; none is older than an earlier job."""
    options = {
        "merge-engine": "partial-update",
        "fields.c.sequence-group": "a,b,d,s",
        "fields.b.aggregate-function": "sum",
        "fields.d.aggregate-function": "last_value",
        "write-only": "true",
        "bucket": "1",
    }
    whole, alone = (_fresh(catalog, name, COLUMNS, options) for name in ("whole", "alone"))
    for number, drawn in enumerate(jobs):
        given_ = [row | _in_turn(row, number) for row in drawn]
        whole.upsert(given_)
        for row in given_:
            alone.upsert([row])
        assert stored(whole) == stored(alone), jobs
    keys = whole.scan(["k"]).to_pylist()  # no column of the group is read
    assert {row["k"] for row in keys} == {row["k"] for row in stored(alone)}
    whole.compact()
    assert stored(whole) == stored(alone)


def _in_turn(row: dict[str, Any], job: int) -> dict[str, Any]:
    """A sequence that is greater than those of earlier jobs."""
    return {} if row.get("c") is None else {"c": 10 * job + row["c"]}


def _fresh(catalog: Catalog, name: str, columns: Any, options: dict[str, str]) -> Table:
    catalog.drop_table(name)
    return catalog.create_table(name, columns, ["k"], options=options)


def _refusal(table: Table, rows: list[dict[str, Any]], mode: str | None) -> str | None:
    try:
        table.upsert(rows, merge_mode=mode)
    except TableError as error:
        return str(error)
    return None


def test_overwriting_dictionaries_leave_what_they_do_not_name(catalog: Catalog) -> None:
    default = {"fields.default-aggregate-function": "last_value"}
    for engine, more in (("partial-update", {}), ("aggregation", default)):
        options = {"merge-engine": engine} | more
        table = _fresh(catalog, "named", {"k": "INT", "a": "INT", "b": "INT"}, options)
        table.upsert([{"k": 1, "a": 1, "b": 1}, {"k": 2, "a": 1, "b": 1}])
        table.upsert([{"k": 1, "a": 7}, {"K": 2, "B": 8}], merge_mode="overwrite")
        assert stored(table) == [{"k": 1, "a": 7, "b": 1}, {"k": 2, "a": 1, "b": 8}]


def test_what_is_chosen_of_dictionaries(catalog: Catalog) -> None:
    options = {"merge-engine": "aggregation", "fields.default-aggregate-function": "last_value"}
    table = _fresh(catalog, "chosen", {"k": "INT", "a": "INT", "b": "INT"}, options)
    table.upsert([{"k": 1, "a": 1, "b": 1}, {"k": 2, "a": 1, "b": 1}])
    table.upsert([{"k": 1, "b": 5}, {"k": 2, "a": 6, "b": 7}], columns=["k", "a"])
    assert stored(table) == [{"k": 1, "a": 1, "b": 1}, {"k": 2, "a": 6, "b": 1}]
    table.upsert([{"k": 1, "op": "+I", "a": 3}, {"k": 2, "op": "+U", "b": 4}], row_kind="op")
    assert stored(table) == [{"k": 1, "a": 3, "b": 1}, {"k": 2, "a": 6, "b": 4}]
    table.upsert([{"k": 1, "a": 9}, {"k": 2, "b": 9}], row_kind="+U")
    assert stored(table) == [{"k": 1, "a": 9, "b": 1}, {"k": 2, "a": 6, "b": 9}]
    table.overwrite([{"k": 1, "a": 2}, {"k": 2, "b": 3}])
    assert stored(table) == [{"k": 1, "a": 2, "b": None}, {"k": 2, "a": None, "b": 3}]
    assert table.get_many([{"k": 2}, {"K": 1}]).column("a").to_pylist() == [None, 2]


def test_many_dictionaries_of_many_columns_make_few_files(catalog: Catalog) -> None:
    names = [f"c{number}" for number in range(12)]
    options = {"merge-engine": "aggregation", "fields.default-aggregate-function": "last_value"}
    columns = {"k": "INT"} | dict.fromkeys(names, "INT")
    table = _fresh(catalog, "wide", columns, options | {"bucket": "2"})
    rows: Any = (
        {"k": at % 5} | {name: at for bit, name in enumerate(names) if at >> bit & 1}
        for at in range(BATCH_ROWS + 3000)
    )
    assert table.upsert(rows) == 1
    assert table.files().num_rows == 2
    last = {
        key: {
            name: max(at for at in range(BATCH_ROWS + 3000) if at % 5 == key and at >> bit & 1)
            for bit, name in enumerate(names)
        }
        for key in range(5)
    }
    assert stored(table) == [{"k": key} | last[key] for key in range(5)]


def test_a_column_that_only_late_rows_name(catalog: Catalog) -> None:
    """What columns are written is decided by the first rows: others are refused by their number."""
    table = _fresh(catalog, "late", {"k": "INT", "l": "INT"}, {"merge-engine": "partial-update"})

    def rows(last: dict[str, int]) -> Any:
        yield from ({"k": k} for k in range(BATCH_ROWS + 5))
        yield last

    late = rf"row {BATCH_ROWS + 6} names column l, which none of the first {BATCH_ROWS} rows names"
    with pytest.raises(TableError, match=late):
        table.upsert(rows({"k": 1, "L": 2}))
    with pytest.raises(TableError, match="it has no column x; it has k, l"):
        table.upsert(rows({"k": 1, "x": 2}))
    assert table.snapshot is None


def test_dictionaries_that_can_not_be_written(catalog: Catalog) -> None:
    columns = {"k": "INT", "a": "INT", "b": "INT NOT NULL"}
    full = {"k": 1, "a": 1, "b": 1}
    table = _fresh(catalog, "odd", columns, {"merge-engine": "aggregation"})
    for rows, words in (
        ([full, {"a": 1, "b": 1}], "row 2 .*column k of the primary key does not take NULL"),
        ([full, {"k": 1}], "column b is NOT NULL"),
        ([full, 5], "expected dictionaries, as the first row is, found 5"),
        ([full, {"k": 1, "K": 2}], "column k comes twice in the row"),
        ([full, {"k": 1, "_NAMED": "b"}], "it has no column _NAMED"),
    ):
        with pytest.raises(TableError, match=words):
            table.upsert(rows)
    assert table.snapshot is None
    plain = catalog.create_table("two", {"k": "INT", "l": "INT"}, ["k", "l"])
    plain.upsert([{"k": 1, "l": 1}])
    with pytest.raises(TableError, match="expected keys with the columns k, l, found l"):
        plain.get_many([{"k": 1, "l": 1}, {"l": 1}])


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_a_default_that_came_after_a_row_stays_with_it(tmp_path: Path, engine: str) -> None:
    """A row that was written before a column has its DEFAULT, though it named other columns."""
    options = {"merge-engine": engine, "write-only": "true"}
    table = keyfold.connect(tmp_path).create_table(
        "t", {"k": "INT", "a": "INT", "b": "INT"}, ["k"], options=options
    )
    table.upsert([{"k": 1, "a": 1}], merge_mode="overwrite")
    table.alter(add={"c": "INT DEFAULT 5"})
    table.upsert([{"k": 1, "b": 7}], merge_mode="overwrite")
    wanted = [{"k": 1, "a": 1, "b": 7, "c": 5}]
    assert table.scan().to_pylist() == wanted
    table.compact("full")
    assert table.scan().to_pylist() == wanted
