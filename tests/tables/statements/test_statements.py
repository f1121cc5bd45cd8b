"""What UPDATE and MERGE from Python take, refuse and leave behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold import Catalog, ConflictError, NotSupportedError, Table, TableError
from keyfold.write import jobs

Call = Callable[[Table], Any]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return keyfold.connect(tmp_path, threads=2)


@pytest.fixture
def table(catalog: Catalog) -> Table:
    columns = {"k": "INT", "n": "BIGINT", "d": "DECIMAL(9, 2)", "s": "STRING DEFAULT 'new'"}
    table = catalog.create_table("t", columns, ["k"])
    table.upsert([{"k": k, "n": 10 * k, "d": Decimal(k), "s": f"s{k}"} for k in range(4)])
    return table


def rows(table: Table) -> dict[int, tuple[Any, ...]]:
    found = table.scan().to_pylist()
    return {row["k"]: (row["n"], row["d"], row["s"]) for row in found}


SOURCES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "Arrow": pa.table,
    "stream": lambda columns: pa.table(columns).to_reader(1),
    "pandas": pd.DataFrame,
    "index": lambda columns: pd.DataFrame(columns).set_index("k"),
    "Polars": pl.DataFrame,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "dictionaries": lambda columns: pa.table(columns).to_pylist(),
    "batches": lambda columns: iter(pa.table(columns).to_batches(1)),
}


@pytest.mark.parametrize("form", SOURCES)
def test_a_source_comes_in_any_form(table: Table, form: str) -> None:
    source = SOURCES[form]({"k": [1, 9], "N": [5, 6], "op": ["up", "new"]})
    merge = table.merge(source)
    merge.when_matched_update({"n": pc.field("target", "n") + pc.field("source", "N")})
    merge.when_not_matched_insert_all(pc.field("source", "op") == "new")
    assert merge.execute() == 2
    found = rows(table)
    assert (found[1][0], found[9]) == (15, (6, None, "new"))
    assert len(found) == 5


def test_names_of_a_source_in_other_letter_case(table: Table) -> None:
    """Dictionaries that spell a name differently have one column of it."""
    source = [{"k": 1, "N": 5, "op": 1}, {"K": 9, "n": 6, "OP": 2}]
    merge = table.merge(source).when_matched_update({"n": pc.field("source", "op")})
    assert merge.when_not_matched_insert_all(pc.field("source", "op") == 2).execute() == 2
    found = rows(table)
    assert (found[1][0], found[9][0]) == (1, 6)
    for odd in ([{"k": 1, "K": 2}], [{"k": 1, "op": 1}, {"k": 2, "op": 1, "Op": 2}]):
        with pytest.raises(TableError, match=r"column (k|op) comes twice in the row {'k'"):
            table.merge(odd).when_matched_delete().execute()
    for twice in (pa.table({"k": [1], "K": [2]}), pd.DataFrame({"k": [1], "x": [1], "X": [2]})):
        with pytest.raises(TableError, match=r"column [KX] .*comes twice"):
            table.merge(twice).when_matched_delete().execute()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: t.update(None, {}), TableError, "no column is assigned"),
        (lambda t: t.update(None, {"x": 1}), TableError, "no column x; there are k, n, d, s"),
        (lambda t: t.update(None, {"n": 1, "N": 2}), TableError, "column n is assigned twice"),
        (lambda t: t.update(None, {"n": 1.5}), TableError, "column n, of type BIGINT, does not"),
        (
            lambda t: t.update("k > 2", {"d": pc.field("n") * 10**9}),
            TableError,
            r"row k = 3: column d, of type DECIMAL\(9,2\), does not take 30000000000",
        ),
        (lambda t: t.update(None, {"n": pc.field("m")}), TableError, "names no field; there are k"),
        (lambda t: t.update(None, {"k": None}), TableError, "Cannot write null to non-null column"),
        (
            lambda t: t.update("k = 3", {"n": pc.field("n") * 2**62}),
            TableError,
            "n = multiply_checked.*overflow",
        ),
        (lambda t: t.update("m = 1", {"n": 1}), TableError, "m"),
        (lambda t: t.update(3, {"n": 1}), TableError, "expected SQL text or an expression"),
        (lambda t: t.update(None, [1]), TableError, "values is list .1.; expected a dictionary"),
        (lambda t: t.merge([{"k": 1}]).execute(), TableError, "no clause says what is done"),
        (lambda t: t.merge(7).when_matched_delete().execute(), TableError, "expected an Arrow"),
        (lambda t: t.merge([{"k": "x"}]).when_matched_delete().execute(), TableError, "column k"),
        (
            lambda t: t.merge([{"z": 1}]).when_matched_delete().execute(),
            TableError,
            "the source has no column k; it has z",
        ),
        (
            lambda t: t.merge([{"k": 1}], on="k"),
            TableError,
            "on is the text 'k'; expected",
        ),
        (
            lambda t: t.merge([{"k": 1}]).when_matched_update({"n": pc.field("n")}).execute(),
            TableError,
            r"there are pc.field\('target', 'k'\), .*pc.field\('source', 'k'\)",
        ),
        (
            lambda t: t.merge([{"k": 1}]).when_matched_delete(pc.field("source", "k")).execute(),
            TableError,
            "expected a condition",
        ),
        (
            lambda t: t.merge([{"k": 1}]).when_not_matched_insert({"n": 1}).execute(),
            TableError,
            "inserts rows without column k of the key",
        ),
        (lambda t: t.upsert([{"k": 1}], token="a"), TableError, "a name and a version of 0"),
        (lambda t: t.delete(where="k = 1", token=("a", -1)), TableError, "such as .'orders', 7."),
    ],
)
def test_what_can_not_be_is_refused_and_changes_nothing(
    table: Table, call: Call, error: type[Exception], words: str
) -> None:
    before = rows(table)
    with pytest.raises(error, match=words):
        call(table)
    assert table.snapshot == 1
    assert rows(table) == before


def test_floating_columns_are_not_matched(catalog: Catalog) -> None:
    table = catalog.create_table("f", {"k": "INT", "x": "DOUBLE"}, ["k"])
    merge = table.merge([{"k": 1, "x": 1.0}], on=["x"]).when_matched_delete()
    with pytest.raises(NotSupportedError, match="column x, of type double"):
        merge.execute()


def test_tables_without_deletes_refuse_what_deletes(catalog: Catalog) -> None:
    options = {"table.delete.behavior": "disable"}
    table = catalog.create_table("t", {"k": "INT", "n": "INT"}, ["k"], options=options)
    table.upsert([{"k": 1, "n": 1}])
    assert table.update(None, {"n": 2}) == 2
    for call in (
        lambda: table.update(None, {"k": 2}),
        lambda: table.merge([{"k": 1}]).when_matched_delete().execute(),
    ):
        with pytest.raises(TableError, match=r"table.delete.behavior is 'disable'"):
            call()
    assert table.scan().to_pylist() == [{"k": 1, "n": 2}]


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.update("k = 1", {"n": pc.field("n") + 1}),
        lambda t: t.merge([{"k": 1}]).when_matched_update({"n": 0}).execute(),
        lambda t: t.merge([{"k": 9}]).when_not_matched_insert_all().execute(),
    ],
)
def test_a_statement_changes_no_row_it_has_not_seen(
    table: Table, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    publish = jobs.publish

    def overtaken(*given: Any) -> Any:
        monkeypatch.undo()
        table.upsert([{"k": 1, "n": 77}, {"k": 9, "n": 77}])
        return publish(*given)

    monkeypatch.setattr(jobs, "publish", overtaken)
    with pytest.raises(ConflictError, match="changed rows, in keys"):
        call(table)
    assert (rows(table)[1][0], rows(table)[9][0]) == (77, 77)


def test_a_token_is_taken_once(table: Table) -> None:
    calls: list[Call] = [
        lambda t: t.upsert([{"k": 1, "n": 5}], token=("app", 1)),
        lambda t: t.update("k = 2", {"n": pc.field("n") + 1}, token=("app", 2)),
        lambda t: t.merge([{"k": 2}], token=("app", 3)).when_matched_delete().execute(),
        lambda t: t.delete([{"k": 3}], token=("app", 4)),
        lambda t: t.overwrite([{"k": 4, "n": 4}], token=("app", 5)),
    ]
    for number, call in enumerate(calls, 2):
        assert call(table) == number
        after = rows(table)
        table.upsert([{"k": 3, "n": 3}, {"k": 2, "n": 2}], token=(f"other {number}", 1))
        table.rollback(snapshot=number)
        assert call(table) is None
        assert rows(table) == after
    for number, call in enumerate(calls[:-1], 1):
        with pytest.raises(TableError, match=rf"{number} of 'app' is lower than 5, .*token=\(name"):
            call(table)
    assert rows(table) == after
    assert table.upsert([{"k": 1, "n": 1}], token=("other", 0)) is not None


def test_a_token_of_a_call_that_changes_no_rows(table: Table) -> None:
    """Rows that others write later are not changed by the call that is repeated."""

    def in_transaction(t: Table) -> int | None:
        with t.transaction(token=("whole", 1)) as opened:
            opened.delete(where="k > 50")
        return opened.snapshot

    calls: list[Call] = [
        lambda t: t.update("k > 50", {"n": 0}, token=("app", 1)),
        lambda t: t.merge([{"k": 60}], token=("app", 2)).when_matched_delete().execute(),
        lambda t: t.delete([{"k": 60}], token=("app", 3)),
        lambda t: t.delete(where="k > 50", token=("app", 4)),
        lambda t: t.upsert([], token=("app", 5)),
        in_transaction,
    ]
    for call in calls:
        assert call(table) is not None
        table.upsert([{"k": 60, "n": 6}])
        before = rows(table)
        assert call(table) is None
        assert rows(table) == before
        table.delete([{"k": 60}])
    table.truncate()
    assert table.truncate(token=("app", 6)) is not None
    table.upsert([{"k": 60, "n": 6}])
    assert table.truncate(token=("app", 6)) is None
    assert table.delete(where="k = 61") is None  # without a token there is nothing to note


def test_snapshots_tell_what_a_statement_did(table: Table) -> None:
    table.update("k >= 2", {"n": 0})
    table.update("k >= 2", {"k": pc.field("k") + 10})
    merge = table.merge([{"k": 0, "n": 1}, {"k": 1, "n": 1}, {"k": 50, "n": 1}])
    merge.when_matched_delete(pc.field("target", "k") == 0).when_matched_update_all()
    merge.when_not_matched_insert_all().execute()
    table.delete(where="k > 11")
    statements = table.snapshots().column("statement").drop_null().to_pylist()
    assert list(map(json.loads, statements)) == [
        {"command": "UPDATE", "updated": 2},
        {"command": "UPDATE", "updated": 2},
        {"command": "MERGE", "inserted": 1, "updated": 1, "deleted": 1},
        {"command": "DELETE", "deleted": 3},
    ]


def test_columns_that_are_not_assigned_keep_what_others_write(catalog: Catalog) -> None:
    """As in SQL, where the engine folds column by column."""
    options = {"merge-engine": "partial-update"}
    table = catalog.create_table("t", {"k": "INT", "a": "INT", "b": "INT"}, ["k"], options=options)
    table.upsert([{"k": 1, "a": 1, "b": 1}])
    table.update(None, {"a": 2})
    table.upsert([{"k": 1, "b": 5}])
    table.compact()
    assert table.scan().to_pylist() == [{"k": 1, "a": 2, "b": 5}]


REFUSED: dict[str, tuple[Call, str]] = {
    "a predicate in SQL": (
        lambda t: t.merge([{"k": 1}]).when_matched_delete("n = 3").execute(),
        "expected a predicate as an expression of pyarrow.compute, such as .*, found 'n = 3'",
    ),
    "a value in SQL": (
        lambda t: t.update(None, {"n": "n + 1"}),
        r"does not take 'n \+ 1': expected a whole number.*; an expression is one of pyarrow",
    ),
    "a function": (
        lambda t: t.update("upper(s) = 'A'", {"n": 1}),
        r"expected a comparison \(the function upper is not supported here\), found \(",
    ),
    "tuples in a merge": (
        lambda t: t.merge([(1, 2)]).when_matched_delete().execute(),
        "a list of dictionaries.*, found one of tuple",
    ),
    "tuples": (lambda t: t.upsert([(1, 2)]), "a list of dictionaries.*, found one of tuple"),
    "no version": (lambda t: t.rollback(), "tag and timestamp, found none"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said_in_words_of_users(table: Table, name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(TableError, match=message):
        call(table)
    assert table.snapshot == 1


def test_a_source_without_rows(table: Table) -> None:
    for source in ([], iter([])):
        merge = table.merge(source).when_matched_update_all().when_not_matched_insert_all()
        assert merge.execute() is None
    assert table.merge([]).when_not_matched_by_source_delete(pc.field("target", "k") > 0).execute()
    assert set(rows(table)) == {0}


def test_a_source_without_rows_names_no_columns(table: Table) -> None:
    """Clauses and `on` may name columns that the table lacks, as with rows that have them."""
    gone = pc.field("source", "op") == "D"
    for nothing in ([], iter([]), pd.DataFrame(), pa.table({})):
        merge = table.merge(nothing, {"k": "key"}).when_matched_delete(gone)
        merge = merge.when_matched_update({"n": pc.field("source", "m")})
        merge = merge.when_not_matched_insert({"k": pc.field("source", "key")})
        assert merge.execute() is None
    all_but_one = pc.field("target", "k") > 0
    merge = table.merge([], {"k": "key"}).when_matched_delete(gone)
    assert merge.when_not_matched_by_source_delete(all_but_one).execute()
    assert set(rows(table)) == {0}
    with pytest.raises(TableError, match="the rows of the source have no columns"):
        table.merge([{}]).when_matched_delete().execute()
