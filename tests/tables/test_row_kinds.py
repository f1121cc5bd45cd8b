"""Kinds of rows that a program gives, against a table whose `rowkind.field` brings the same."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import TableError

KINDS = ("+I", "-U", "+U", "-D")
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "partial-update": {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "fluss": {"table.delete.behavior": "ignore"},
}


@pytest.mark.parametrize("engine", list(ENGINES))
def test_rows_fold_as_by_a_column_of_kinds(tmp_path: Path, seed: int, engine: str) -> None:
    random, catalog = Random(seed), keyfold.connect(tmp_path, threads=2)
    options = {"write-only": "true"} | ENGINES[engine]
    columns = {"k": "INT", "v": "BIGINT", "w": "STRING"}
    table = catalog.create_table("t", columns, ["k"], options=options)
    model = catalog.create_table(
        "m", columns | {"op": "STRING"}, ["k"], options=options | {"rowkind.field": "op"}
    )
    for number in range(6):
        kinds = KINDS if engine != "partial-update" else ("+I", "+U", "-D")
        names = random.choice((["k", "v", "w"], ["k", "v"]))
        one, kind = random.random() < 0.3, random.choice(kinds)
        values = {"v": number, "w": f"w{number}"}
        rows: list[dict[str, Any]] = [
            {"k": random.randrange(30), "op": kind if one else random.choice(kinds)} | values
            for _ in range(40)
        ]
        rows = [{name: row[name] for name in ("op", *names)} for row in rows]
        model.upsert(rows)
        if one:
            table.upsert([{name: row[name] for name in names} for row in rows], row_kind=kind)
        else:
            table.upsert(pa.Table.from_pylist(rows), row_kind="op")
        wanted = model.scan(["k", "v", "w"]).to_pylist()
        assert sorted(table.scan().to_pylist(), key=str) == sorted(wanted, key=str)
        if random.random() < 0.3:
            table.compact()
            model.compact()


def test_wrong_kinds_are_named(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path)
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    for rows, kind, words in (
        ([{"k": 1, "op": "D"}], "op", "Unsupported short string 'D'"),
        ([{"k": 1, "op": None}], "op", "Row kind cannot be null"),
        (
            pa.table({"k": [1], "op": [[1]]}),
            "op",
            "column op, of type STRING, does not take",
        ),
        ([{"k": 1}], "op", "row_kind is 'op'; expected one of .I, -U, .U, -D, or a column"),
        ([{"k": 1}], "v", "names column v, which the table has too"),
    ):
        with pytest.raises(TableError, match=words):
            table.upsert(rows, row_kind=kind)
    assert table.snapshot is None
    assert table.upsert([], row_kind="-D") is None
    by_field = catalog.create_table(
        "f", {"k": "INT", "op": "STRING"}, ["k"], (), {"rowkind.field": "op"}
    )
    with pytest.raises(TableError, match=r"the kinds are in column op \(rowkind.field\)"):
        by_field.upsert([{"k": 1}], row_kind="-D")
    first = catalog.create_table("o", {"k": "INT"}, ["k"], (), {"merge-engine": "first-row"})
    with pytest.raises(TableError, match="First row merge engine can not accept DELETE"):
        first.upsert([{"k": 1}], row_kind="-D")


def test_other_letters_are_kinds_by_a_map(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path)
    letters = {"keyfold.rowkind.map": "c=+I, r = +i, u=+U, d=-D"}
    columns = {"k": "INT", "v": "INT", "op": "STRING"}
    table = catalog.create_table("t", columns, ["k"], (), letters | {"rowkind.field": "op"})
    events = [(1, "c"), (2, "r"), (3, None), (4, "+I"), (5, "c"), (1, "u"), (2, "d"), (4, "-D")]
    table.upsert([{"k": k, "v": at, "op": op} for at, (k, op) in enumerate(events)])
    assert sorted((row["k"], row["v"]) for row in table.scan().to_pylist()) == [
        (1, 5),
        (3, 2),
        (5, 4),
    ]
    with pytest.raises(TableError, match=r"string 'D' .*Expected one of .*-D, c, r, u, d, as key"):
        table.upsert([{"k": 1, "op": "D"}])
    plain = catalog.create_table("p", {"k": "INT"}, ["k"], (), letters)
    plain.upsert([{"k": 1, "op": "c"}, {"k": 2, "op": None}, {"k": 1, "op": "d"}], row_kind="op")
    assert plain.scan().to_pylist() == [{"k": 2}]
    for wrong in ("c", "c=+J", "+I=-D", "c=+I, c=-D", "=+I"):
        with pytest.raises(TableError, match=r"each with its kind, .I, -U"):
            catalog.create_table("w", {"k": "INT"}, ["k"], (), {"keyfold.rowkind.map": wrong})
