"""Random transactions against a table in which each of their calls is a commit of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

import keyfold
from keyfold import Table
from tests.draws import draws

Row = dict[str, Any]
Call = Callable[[Any], Any]
SUM = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
GROUP = {"merge-engine": "partial-update", "fields.at.sequence-group": "n"}
ENGINES: Mapping[str, dict[str, str]] = {
    "deduplicate": {"bucket": "2"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "2"},
    "postponed": {"bucket": "-2"},
    "input": {"changelog-producer": "input"},
    "lookup": {"changelog-producer": "lookup"},
    "sequence": {"sequence.field": "at"},
    "sum": {**SUM, "bucket": "2"},
    "sum, input": {**SUM, "changelog-producer": "input"},
    "partial-update": {"merge-engine": "partial-update"},
    "group": {**GROUP, "partial-update.remove-record-on-sequence-group": "at"},
    "first-row": {"merge-engine": "first-row"},
}
PRODUCER = "changelog-producer"
COLUMNS = {"p": "INT", "k": "INT", "at": "BIGINT", "n": "BIGINT", "s": "STRING"}
KEYS = st.fixed_dictionaries({"p": st.integers(0, 1), "k": st.integers(0, 4)})
ROWS = st.fixed_dictionaries(
    {
        "p": st.integers(0, 1),
        "k": st.integers(0, 4),
        "at": st.integers(0, 9),
        "n": st.none() | st.integers(0, 9),
        "s": st.none() | st.sampled_from("ab"),
    }
)
MANY = st.lists(ROWS, min_size=1, max_size=4)


def upsert(rows: list[Row]) -> Call:
    return lambda t: t.upsert(rows)


def upsert_some(rows: list[Row]) -> Call:
    return lambda t: t.upsert(rows, columns=["p", "k", "n"])


def replace(rows: list[Row]) -> Call:
    return lambda t: t.overwrite(rows)


def replace_partition(rows: list[Row]) -> Call:
    return lambda t: t.overwrite([row | {"p": 1} for row in rows], "p = 1")


def replace_touched(rows: list[Row]) -> Call:
    return lambda t: t.overwrite(rows, dynamic=True)


def delete(keys: list[Row]) -> Call:
    return lambda t: t.delete(keys)


def delete_where(least: int) -> Call:
    return lambda t: t.delete(where=f"n > {least}")


def update(least: int) -> Call:
    return lambda t: t.update(f"n >= {least}", {"n": pc.field("n") + 1, "s": "up"})


def move(to: int) -> Call:
    return lambda t: t.update("p = 0", {"k": pc.field("k") + to})


def merge(rows: list[Row]) -> Call:
    once = list({(row["p"], row["k"]): row for row in rows}.values())

    def call(t: Any) -> None:
        made = t.merge(once).when_matched_delete(pc.field("source", "n") == 0)
        made = made.when_matched_update_all(except_cols=["at"])
        made.when_not_matched_insert_all().execute()

    return call


def copy(_: int) -> Call:
    """What is written depends on what was read."""

    def call(t: Any) -> None:
        rows = t.scan(where="p = 0").to_pylist()
        t.upsert([row | {"p": 1, "s": "copy"} for row in rows])

    return call


CALLS = st.one_of(
    [MANY.map(one) for one in (upsert, upsert_some, merge, replace_partition, replace_touched)]
    + [st.lists(KEYS, min_size=1, max_size=3).map(delete), MANY.map(upsert), MANY.map(replace)]
    + [st.integers(0, 9).map(one) for one in (delete_where, update, copy, move)]
    + [st.just(lambda t: t.truncate())]
)


class Undone(Exception):
    """A program's own error in a block."""


def rows(t: Any) -> dict[tuple[int, int], Row]:
    return {(row["p"], row["k"]): row for row in t.scan().to_pylist()}


def changes(t: Table, after: int, *, net: bool = True) -> list[tuple[Any, ...]]:
    found = t.changes(after, net=net).to_pylist()
    kept = [tuple(row[n] for n in (*COLUMNS, "_change_type")) for row in found]
    return sorted(kept, key=repr)


@draws(6)
@given(
    st.sampled_from(sorted(ENGINES)),
    st.lists(st.tuples(st.lists(CALLS, min_size=1, max_size=4), st.booleans()), max_size=3),
    MANY,
)
def test_a_transaction_is_its_calls_one_after_another(
    engine: str, transactions: list[tuple[list[Call], bool]], first: list[Row]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        catalog = keyfold.connect(folder, threads=1)
        made = [catalog.create_table(n, COLUMNS, ["p", "k"], ["p"], ENGINES[engine]) for n in "tu"]
        ours, serial = made
        for table in made:
            table.upsert(first)
        for calls, fails in transactions:
            check_transaction(ours, serial, calls, fails=fails)
        for table in made:
            table.compact()
        assert rows(ours) == rows(serial)


def check_transaction(ours: Table, serial: Table, calls: list[Call], *, fails: bool) -> None:
    before, after = (ours.snapshot, files(ours), rows(ours)), serial.snapshot or 0
    states = [] if fails else [(call(serial), rows(serial))[1] for call in calls]
    try:
        with ours.transaction() as t:
            for call, state in zip_longest(calls, states):
                call(t)
                if fails:
                    rows(t)
                else:
                    assert (rows(t), looked_up(t)) == (state, state)
            if fails:
                raise Undone  # noqa: TRY301
    except Undone:
        assert (ours.snapshot, files(ours), rows(ours)) == before
        return
    assert rows(ours) == states[-1]
    kinds = ours.snapshots().column("commit_kind").to_pylist()[before[0] or 0 :]
    assert len(kinds) - kinds.count("COMPACT") <= 1
    if ours.options.get(PRODUCER) != "lookup":
        assert changes(ours, before[0] or 0) == changes(serial, after)
    if PRODUCER not in ours.options:  # then a change is what two snapshots show
        assert changes(ours, before[0] or 0, net=False) == changes(serial, after)


def looked_up(t: Any) -> dict[tuple[int, int], Row]:
    found = t.get_many([{"p": p, "k": k} for p in (0, 1) for k in range(40)])
    return {(row["p"], row["k"]): row for row in found.to_pylist() if row["p"] is not None}


def files(table: Table) -> set[str]:
    home = Path(table.location)
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
