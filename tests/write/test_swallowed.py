"""No statement has no effect in silence: on every engine, with every option that drops or orders
records, each clause is right or refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import KeyfoldError, TableError
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER
from keyfold.storage.table import Table
from keyfold.write.row_changes import MOVED
from tests.concurrency import jobs
from tests.concurrency.jobs import Changes
from tests.read import harness
from tests.storage import tables

Row = dict[str, Any]
ENGINES: Mapping[str, Mapping[str, str]] = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "groups": {"merge-engine": "partial-update", "fields.s.sequence-group": "a"},
    "aggregation": {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"},
    "first-row": {"merge-engine": "first-row"},
    "versioned": {
        "table.merge-engine": "versioned",
        "table.merge-engine.versioned.ver-column": "s",
    },
}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "ignore-delete": {"ignore-delete": "true"},
    "ignore-update-before": {"ignore-update-before": "true"},
    "rowkind.field": {"rowkind.field": "op"},
    "both": {"rowkind.field": "op", "ignore-delete": "true"},
    "sequence.field": {"sequence.field": "s"},
    "descending": {"sequence.field": "s", "sequence.field.sort-order": "descending"},
    "ordered by snapshot": {"sequence.snapshot-ordering": "true", "write-only": "true"},
    "disable": {"table.delete.behavior": "disable"},
    "ignore": {"table.delete.behavior": "ignore"},
}
Records = list[tuple[int, Row]]


def row(key: int, **values: Any) -> Row:
    return {"k": key, "a": 1, "b": 1, "s": 5, "op": "+I"} | values


def stored(key: int, **values: Any) -> Row:
    """A row as it is written over another, whose sequence comes along."""
    return row(key, **values) | {"_STORED_a": 1, "_STORED_b": 1, "_STORED_s": 5}


EARLIER, NOTHING = {"a": 7, "s": 1}, {"a": None, "s": None}
MINUS = {"a": 8, "op": "-D"}  # an UPDATE that sets the column of the kinds
# by key: the command, its records, the columns that it sets, and what is left of the key's row
CLAUSES: Mapping[int, tuple[str, Records, list[str] | None, list[Row]]] = {
    1: ("DELETE", [(DELETE, stored(1))], None, []),
    2: ("MERGE", [(DELETE, stored(2))], None, []),
    3: ("UPDATE", [(DELETE, stored(3)), (MOVED, stored(103))], ["k"], [row(103)]),
    4: ("UPDATE", [(UPDATE_AFTER, stored(4, **EARLIER))], ["a", "s"], [row(4, **EARLIER)]),
    5: ("UPDATE", [(UPDATE_AFTER, stored(5, **NOTHING))], ["a", "s"], [row(5, **NOTHING)]),
    6: ("UPDATE", [(UPDATE_AFTER, stored(6, **MINUS))], ["a", "op"], [row(6, **MINUS)]),
    7: ("MERGE", [(UPDATE_AFTER, stored(7, **EARLIER))], ["a", "s"], [row(7, **EARLIER)]),
    8: ("MERGE", [(INSERT, row(108, s=0))], ["a"], [row(8), row(108, s=0)]),
}
REMOVING = (1, 2, 3)
APART = {  # CREATE refuses these
    ("first-row", "sequence.field"),
    ("first-row", "descending"),
    ("versioned", "ordered by snapshot"),
}
ROWS = [row(key) for key in CLAUSES]
REFUSAL = r"ignore-delete|table\.delete\.behavior|versioned"


def made(folder: str, engine: str, option: str) -> Table | None:
    """The table with a row for each clause; None if CREATE refuses the options together."""
    given = (
        {"bucket": "1", "keyfold.data-file.sync": "false"}
        | {**ENGINES[engine]}
        | {**OPTIONS[option]}
    )
    columns = [tables.column(name) for name in ("k", "a", "b", "s")]
    named = {name.replace(".", "__"): value for name, value in given.items()}
    new = tables.new_table(*columns, tables.column("op", "string"), **named)
    try:
        table = jobs.catalog(folder).create_table(["default"], "t", new)
    except KeyfoldError as error:
        refusal = str(error)
    else:
        jobs.written(folder, ROWS)
        return table
    assert (engine, option) in APART, refusal
    return None


def found(folder: str) -> list[Row]:
    return sorted(harness.rows(jobs.table_of(folder)), key=lambda row: row["k"])


def is_refused(engine: str, option: str) -> bool:
    """Whether the table takes no deletes, which its options say."""
    return engine == "versioned" or option in ("ignore-delete", "both", "disable", "ignore")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("option", OPTIONS)
def test_each_clause_is_right_or_refused(tmp_path: Path, engine: str, option: str) -> None:
    folder, left = str(tmp_path), []
    if made(folder, engine, option) is None:
        return
    for key, (command, records, assigned, after) in CLAUSES.items():
        if key in REMOVING and is_refused(engine, option):
            with pytest.raises(TableError, match=REFUSAL):
                Changes(folder, records, command, assigned).run()
            left.append(row(key))
        else:
            Changes(folder, records, command, assigned).run().commit()
            left += after
    left.sort(key=lambda one: one["k"])
    assert found(folder) == left
    jobs.compacted(folder)
    assert found(folder) == left
    asked = jobs.question(jobs.table_of(folder), filters=[])
    if is_refused(engine, option):  # a DELETE without WHERE, which reads nothing
        with pytest.raises(TableError, match=REFUSAL):
            jobs.commit.delete_where(asked)
        assert found(folder) == left
    else:
        jobs.commit.delete_where(asked)
        assert found(folder) == []
