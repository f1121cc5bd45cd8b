"""Changes as the questions of a JVM plan them and its tasks read them; and what they have to be:
two snapshots, each read whole, compared key by key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from keyfold.changelog import changes_plan
from keyfold.changelog.changed_rows import read_task
from keyfold.changelog.specs import ChangeSplit, ChangesRequest, ChangesSpec
from keyfold.changelog.views import CHANGE, CHANGES, TIME, VERSION
from keyfold.read import scan_plan as reads
from keyfold.read.request import ReadRequest
from keyfold.read.task import read_task as read_rows
from keyfold.storage.table import Table
from tests.storage import tables

Row = dict[str, Any]
State = dict[str, Row]


def read(
    found: Table,
    asked: ChangesRequest,
    columns: Sequence[str] = (),
    filters: Sequence[Any] = (),
    **more: Any,
) -> list[Row]:
    """The rows of a view, task by task; specs travel as JSON."""
    table = tables.reload(found)
    names = columns or [*table.layout.arrow_schema.names, CHANGE, VERSION, TIME]
    spec, tasks, _ = changes_plan.plan_changes(table, asked, ReadRequest(names, filters, **more))
    sent = ChangesSpec.from_json(json.loads(json.dumps(spec.to_json())))
    every = [[ChangeSplit.from_json(json.loads(json.dumps(s.to_json()))) for s in t] for t in tasks]
    return [row for task in every for batch in read_task(sent, task) for row in batch.to_pylist()]


Changes = list[tuple[int, str, str]]


def changes(found: Table, after: int, until: int, *, net: bool = False, **more: Any) -> Changes:
    """The changes of a range: snapshot, word and row, in one order."""
    asked = ChangesRequest(CHANGES.name, after, until, net=net, updates=True)
    rows = read(found, asked, **more)
    return sorted((row[VERSION], row[CHANGE], shown(row)) for row in rows)


def shown(row: Row) -> str:
    """A row as text that is equal where its values are: NaN to NaN, -0.0 not to 0.0."""
    values = {name: value for name, value in row.items() if name not in (VERSION, CHANGE, TIME)}
    return repr({name: _settled(value) for name, value in values.items()})


def _settled(value: Any) -> Any:
    """Entries of a map in one order."""
    if isinstance(value, list) and value and all(isinstance(one, tuple) for one in value):
        return sorted(value, key=repr)
    return value


def state(found: Table, snapshot: int) -> State:
    """The rows of a snapshot under the newest schema, by key."""
    if not snapshot:
        return {}
    table = replace(tables.reload(found), snapshot_id=snapshot)
    scan, tasks, _ = reads.plan_read(table, ReadRequest(table.layout.arrow_schema.names))
    rows = [row for task in tasks for batch in read_rows(scan, task) for row in batch.to_pylist()]
    key = table.layout.primary_key
    by_key = {repr([row[name] for name in key]): row for row in rows}
    assert len(by_key) == len(rows)
    return by_key


def net_in_order(net: Changes) -> Changes:
    """Net changes whatever their commits."""
    return sorted(net, key=lambda change: change[1:])


def check_commits(net: Changes, expected: Sequence[Changes], until: int) -> None:
    """The commit of a net change is no earlier than the last that made its row what it is."""
    last = {row: number for of_one in expected for number, _, row in of_one}
    for number, word, row in net:
        if word in ("insert", "update_postimage"):
            assert last[row] <= number <= until


def compared(before: State, after: State, number: int) -> Iterator[tuple[int, str, str]]:
    """The definition: what two states show."""
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old is None and new is not None:
            yield number, "insert", shown(new)
        elif new is None and old is not None:
            yield number, "delete", shown(old)
        elif old is not None and new is not None and shown(old) != shown(new):
            yield number, "update_preimage", shown(old)
            yield number, "update_postimage", shown(new)


def check_every_range(found: Table) -> int:
    """Each range has the changes of its snapshots, net changes are those of its ends, and changes
    make the table of nothing; returns how many there are.
    """
    newest = tables.reload(found).snapshot_id or 0
    states = [state(found, number) for number in range(newest + 1)]
    expected = [
        sorted(compared(before, after, number + 1))
        for number, (before, after) in enumerate(pairwise(states))
    ]
    whole = changes(found, 0, newest)
    assert whole == [one for of_one in expected for one in of_one]
    for after in range(newest):
        for until in range(after + 1, newest + 1):
            net = changes(found, after, until, net=True)
            assert [one[1:] for one in net_in_order(net)] == sorted(
                one[1:] for one in compared(states[after], states[until], 0)
            )
            check_commits(net, expected[after:until], until)
    folded: set[str] = set()
    for _, word, row in sorted(whole, key=lambda one: (one[0], "post" in one[1], one[1])):
        (folded.discard if word in ("delete", "update_preimage") else folded.add)(row)
    assert folded == {shown(row) for row in states[-1].values()}
    return len(whole)
