"""Groups of records that are not merged: those of the rows, and only where that is sound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import FoldOverflowError
from keyfold.read import reader
from keyfold.read.task import read_task, schema_of
from keyfold.storage.table import Table
from keyfold.wire.specs import Aggregate
from tests.draws import draws
from tests.read import harness
from tests.read.test_grouping import expected, final, group_of, same
from tests.storage import tables

Row = dict[str, Any]
FUNCTIONS = {"i": "sum", "n": "sum", "m": "max", "w": "min", "b": "bool_or", "s": "max", "g": "sum"}
OWN = (("SUM", "i"), ("SUM", "n"), ("MAX", "m"), ("MIN", "w"), ("MAX", "b"), ("MAX", "s"))
KEYS = (("MIN", "k"), ("MAX", "k"), ("MAX", "p"))
OTHERS = (("COUNT", None), ("COUNT", "i"), ("MAX", "i"), ("MIN", "m"), ("SUM", "g"), ("SUM", "m"))


def made(folder: Path, engine: str = "aggregation", **options: str) -> Table:
    columns = (
        tables.column("p", "string", False),
        tables.column("k"),
        tables.column("i", "integer"),
        tables.column("n", "decimal(5,2)"),
        tables.column("m", "double"),
        tables.column("w", "date"),
        tables.column("b", "boolean"),
        tables.column("s", "string"),
        tables.column("g", "double"),
        tables.column("op", "string"),
    )
    functions = {f"fields__{k}__aggregate_function": v for k, v in FUNCTIONS.items()}
    settings = {"bucket": "1", "rowkind__field": "op", "merge_engine": engine}
    settings |= (functions if engine == "aggregation" else {}) | options
    return tables.table(folder, tables.new_table(*columns, key="p,k", by="p", **settings))


def merges(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs of each merge from now on."""
    found: list[int] = []
    original = reader.merge_runs

    def seen(plan: Any, runs: Sequence[Any], **more: Any) -> Iterator[Any]:
        found.append(len(runs))
        return original(plan, runs, **more)

    monkeypatch.setattr(reader, "merge_runs", seen)
    return found


def groups(table: Table, asked: Aggregate, **more: Any) -> dict[tuple[Any, ...], list[Any]]:
    """What Spark makes of the groups of all tasks."""
    scan, found, _ = harness.planned_tasks(table, [], aggregate=asked, **more)
    batches = [batch for task in found for batch in read_task(scan, task)]
    assert all(batch.schema.equals(schema_of(scan)) for batch in batches)
    states: dict[tuple[Any, ...], list[list[Any]]] = {}
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            by = len(asked.by)
            columns = states.setdefault(group_of(row[:by]), [[] for _ in row[by:]])
            for column, item in zip(columns, row[by:], strict=True):
                column.append(item)
    return {
        group: [final(op, column) for (op, _), column in zip(asked.functions, columns, strict=True)]
        for group, columns in states.items()
    }


def check(table: Table, asked: Aggregate, **more: Any) -> None:
    """Compares with the groups of the table's rows."""
    scan, found, _ = harness.planned_tasks(table, None, **more)
    rows = [r for task in found for batch in read_task(scan, task) for r in batch.to_pylist()]
    plain: dict[tuple[Any, ...], list[Row]] = {} if asked.by else {(): []}
    for row in rows:
        plain.setdefault(group_of([row[name] for name in asked.by]), []).append(row)
    ours = groups(table, asked, **more)
    assert ours.keys() == plain.keys()
    for group, found_rows in plain.items():
        for (op, name), value in zip(asked.functions, ours[group], strict=True):
            values = [1 if name is None else row[name] for row in found_rows]
            assert same(value, expected(op, values)), (op, name, group)


CELLS = st.fixed_dictionaries(
    {
        "p": st.sampled_from("xy"),
        "k": st.integers(0, 6),
        "i": st.none() | st.sampled_from([0, 5, -7, 9, 2**31 - 1]),
        "n": st.none() | st.sampled_from([Decimal("0.00"), Decimal("-3.25"), Decimal("999.99")]),
        "m": st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("-inf")]),
        "w": st.none() | st.dates(),
        "b": st.none() | st.booleans(),
        "s": st.none() | st.sampled_from(["", "a", "é", "b" * 40]),
        "g": st.none() | st.sampled_from([0.5, 4.0, -2.25]),
        "op": st.sampled_from(["+I", "+I", "+I", "+I", "+U", "-D"]),
    }
)


@draws(20)
@given(st.data())
def test_groups_of_records_are_those_of_rows(data: st.DataObject) -> None:
    engine = data.draw(st.sampled_from(["aggregation"] * 3 + ["deduplicate", "partial-update"]))
    more = {"partial_update__remove_record_on_delete": "true"} if engine == "partial-update" else {}
    if engine == "aggregation":
        more = {"aggregation__remove_record_on_delete": "true"}
    functions = data.draw(st.lists(st.sampled_from(OWN + KEYS + OTHERS), min_size=1, max_size=4))
    if data.draw(st.booleans()):
        functions = [one for one in functions if one not in OTHERS] or list(OWN)
    by = data.draw(st.sampled_from([(), (), ("p",), ("k",), ("p", "k"), ("k", "s")]))
    has_deletes = data.draw(st.integers(0, 3)) == 0
    condition = [harness.where("<", "k", 4)] if data.draw(st.booleans()) else []
    with TemporaryDirectory() as folder:
        table = made(Path(folder), engine, **more)
        for rows in data.draw(st.lists(st.lists(CELLS, min_size=1, max_size=8), max_size=4)):
            kept = {(row["p"], row["k"]): row for row in rows if has_deletes or row["op"] != "-D"}
            if kept:
                harness.upsert(table, kept.values())
        asked = Aggregate(by, tuple(functions))
        given = {"filters": condition, "enforced": condition, "cores": 3}
        with suppress(FoldOverflowError):  # the sum of a key: in both ways of reading
            check(table, asked, **given)


@pytest.mark.parametrize("engine", ["aggregation", "deduplicate", "first-row", "partial-update"])
def test_only_what_is_sound_is_not_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    removes = {"partial_update__remove_record_on_delete": "true"}
    table = made(tmp_path, engine, **(removes if engine == "partial-update" else {}))
    merged = merges(monkeypatch)
    blank = dict.fromkeys(("i", "n", "m", "w", "b", "s", "g"))
    row = {"p": "x", "op": "+I", **blank, "i": 7, "n": Decimal("99.99"), "m": 1.0, "g": 1.0}
    for job in range(3):
        harness.upsert(table, [row | {"k": key, "s": f"{job}"} for key in range(job, 9)])

    def is_merged(asked: Aggregate, **more: Any) -> bool:
        merged.clear()
        groups(table, asked, **more)
        return bool(merged)

    is_own = engine == "aggregation"
    for one in OWN:
        assert is_merged(Aggregate((), (one,))) != is_own, one
        assert is_merged(Aggregate(("p", "k"), (one,))) != is_own, one
        assert is_merged(Aggregate(("s",), (one,))), one
    assert not is_merged(Aggregate(("k",), KEYS))
    condition = [harness.where("<", "k", 4)]
    assert not is_merged(Aggregate((), KEYS), filters=condition, enforced=condition)
    for other in OTHERS:
        assert is_merged(Aggregate((), (*KEYS, other))), other
    harness.upsert(table, [row | {"k": 1, "n": Decimal("999.99"), "i": 2**31 - 1}])
    for one in OWN:
        asked = Aggregate((), (one,))
        if one[0] == "SUM" and is_own:
            with pytest.raises(FoldOverflowError, match="does not fit"):
                groups(table, asked)
        else:
            assert is_merged(asked) != is_own
    if engine != "first-row":
        harness.upsert(table, [row | {"k": 1, "op": "-D"}])
        assert is_merged(Aggregate((), KEYS))


def test_no_row_is_one_group_of_nothing(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert groups(table, Aggregate((), (("COUNT", None), ("SUM", "i")))) == {(): [0, None]}
    assert groups(table, Aggregate(("k",), (("COUNT", None),))) == {}
