"""Statements that change rows: under every engine a row reads as assigned, a deleted one is gone,
and later records fold on from there, whenever files are compacted.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import TableError
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER
from keyfold.merge.engines import engine
from keyfold.options.parsing import parse
from keyfold.storage.table import Table
from keyfold.write.row_changes import MOVED
from tests.concurrency import jobs
from tests.concurrency.jobs import Changes
from tests.draws import draws
from tests.read import harness
from tests.storage import tables

Row = dict[str, Any]
FOLDERS = itertools.count()
SUM = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
TABLES: Mapping[str, Mapping[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "s"},
    "descending": {"sequence.field": "s", "sequence.field.sort-order": "descending"},
    "partial-update": {"merge-engine": "partial-update"},
    "groups": {"merge-engine": "partial-update", "fields.s.sequence-group": "a"},
    "aggregation": SUM | {"fields.b.aggregate-function": "first_value"},
    "removing": SUM | {"aggregation.remove-record-on-delete": "true"},
    "first-row": {"merge-engine": "first-row"},
}
VALUES = ("a", "b", "s")


def made(folder: str, options: Mapping[str, str]) -> Table:
    columns = tuple(tables.column(name) for name in ("k", *VALUES))
    new = tables.new_table(
        *columns, bucket="2", **{n.replace(".", "__"): v for n, v in options.items()}
    )
    return jobs.catalog(folder).create_table(["default"], "t", new)


class Model:
    """One row per key, folded by the engine's definition record by record."""

    def __init__(self, table: Table) -> None:
        self.layout, self.options = table.layout, parse(table.layout)
        self.engine = engine(self.options.merge_engine, "t")
        self.rows: dict[int, Row] = {}
        self.gone: dict[int, Row] = {}  # by key, the row that was deleted

    def becomes(self, rows: dict[int, Row]) -> None:
        """What a statement leaves: the rows that it writes begin anew."""
        left = {key: row for key, row in self.rows.items() if key not in rows}
        self.gone = {key: row for key, row in (self.gone | left).items() if key not in rows}
        self.rows = rows

    def insert(self, row: Row) -> None:
        before = self.rows.get(row["k"])
        deleted = self.gone.get(row["k"])
        if deleted is not None and self.options.sequence_fields and self.is_late(row, deleted):
            return
        self.gone.pop(row["k"], None)
        records = [(INSERT, one) for one in (before, row) if one is not None]
        if self.options.sequence_fields and len(records) == 2:
            sign = -1 if self.options.sequence_descending else 1
            records.sort(key=lambda one: (one[1]["s"] is not None, sign * (one[1]["s"] or 0)))
        found = self.engine.definition(self.layout, self.options, records)
        assert found is not None
        self.rows[row["k"]] = found[1]

    def is_late(self, row: Row, deleted: Row) -> bool:
        """Whether a row comes before one that was deleted."""
        sign = -1 if self.options.sequence_descending else 1
        came, was = ((one["s"] is not None, sign * (one["s"] or 0)) for one in (row, deleted))
        return came < was


def compare(folder: str, model: Model) -> None:
    found = harness.rows(jobs.table_of(folder))
    assert sorted(found, key=lambda row: row["k"]) == [model.rows[k] for k in sorted(model.rows)]


def statement(folder: str, model: Model, draw: Random) -> None:
    """A random MERGE: each key of the table at most once."""
    assigned = draw.choice([("a",), ("b",), ("a", "s"), VALUES, ("k", "b")])
    records: list[tuple[int, Row]] = []
    stored = {f"_STORED_{name}": name for name in VALUES}
    free = [key for key in range(8) if key not in model.rows]
    after = dict(model.rows)
    for key, row in sorted(model.rows.items()):
        old = {name: row[own] for name, own in stored.items()}
        what = draw.choice(["keep", "delete", "update"])
        if what == "delete":
            records.append((DELETE, {"k": key, **old}))
            del after[key]
        elif what == "update":
            new = row | {name: draw.choice([None, *range(5)]) for name in assigned if name != "k"}
            if "k" in assigned:
                records.append((DELETE, {"k": key, **old}))
                del after[key]
                new["k"] = key + 100
            records.append((MOVED if "k" in assigned else UPDATE_AFTER, new | old))
            after[new["k"]] = new
    moved = {row["k"] for kind, row in records if kind == MOVED}
    # A chain: those that moved come back to keys which the same statement may have deleted.
    for kind, row in records:
        if row["k"] in moved and kind == MOVED and (row["k"] - 99) not in after:
            after[row["k"] - 99] = after.pop(row["k"]) | {"k": row["k"] - 99}
            row["k"] -= 99
    for key in free[:2]:
        if key not in after:
            row = {"k": key} | {name: draw.choice([None, *range(5)]) for name in VALUES}
            records.append((INSERT, row))
            after[key] = row
    draw.shuffle(records)
    Changes(folder, records, assigned=assigned).run(draw.choice([1, 3])).commit()
    model.becomes(after)


@pytest.mark.parametrize("name", TABLES)
@draws(4)
@given(seed=st.integers(0, 1 << 30))
def test_rows_read_as_the_statements_say(
    tmp_path_factory: pytest.TempPathFactory, name: str, seed: int
) -> None:
    """Also with INSERTs and compactions between them; an older snapshot shows what was."""
    folder = str(tmp_path_factory.getbasetemp() / f"changes{next(FOLDERS)}")
    model, draw = Model(made(folder, TABLES[name])), Random(seed)
    for _ in range(draw.randrange(3, 10)):
        what = draw.choice(["insert", "insert", "statement", "statement", "compact"])
        if what == "compact":
            jobs.compacted(folder, draw.choice(["full", "minor"]))
        elif what == "statement":
            statement(folder, model, draw)
        else:
            rows = []
            for key in draw.sample(range(8), 4):
                row = {n: draw.choice([None, *range(5)]) for n in VALUES}
                rows.append({"k": key, **row})
            jobs.written(folder, rows)
            for row in rows:
                model.insert(row)
        compare(folder, model)


def test_a_key_written_twice_is_refused(tmp_path: Path) -> None:
    """Also where the rows are spilled, and never for deletes."""
    folder = str(tmp_path)
    made(folder, {})
    rows = [(UPDATE_AFTER, {"k": 1, "a": value}) for value in range(2)]
    with pytest.raises(TableError, match=r"key \(k = 1\) 2 times .MERGE_CARDINALITY_VIOLATION"):
        Changes(folder, rows).run()
    Changes(folder, [(DELETE, {"k": 1}), (DELETE, {"k": 1})], "DELETE").run().commit()


@pytest.mark.parametrize("option", ["ignore-delete", "table.delete.behavior"])
def test_a_table_without_deletes_refuses_them(tmp_path: Path, option: str) -> None:
    folder = str(tmp_path)
    made(folder, {option: "true" if option == "ignore-delete" else "disable"})
    with pytest.raises(TableError, match=r"DELETE FROM test\.default\.t: "):
        Changes(folder, [], "DELETE")
    with pytest.raises(TableError, match=r"deleting rows of table test\.default\.t: "):
        Changes(folder, [(DELETE, {"k": 1})]).run()
    asked = jobs.question(jobs.table_of(folder), filters=[])
    with pytest.raises(TableError, match=r"DELETE FROM test\.default\.t: "):
        jobs.commit.delete_where(asked)
