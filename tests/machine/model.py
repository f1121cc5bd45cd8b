"""What a table must show after each statement, as dictionaries: its rows, columns, snapshots and
tags, and those of its branches. Values are small integers or NULL.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

Row = dict[str, int | None]
SUM = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
ENGINES: Mapping[str, Mapping[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "s"},
    "descending": {"sequence.field": "s", "sequence.field.sort-order": "descending"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": SUM,
    "first-row": {"merge-engine": "first-row"},
    "versioned": {
        "table.merge-engine": "versioned",
        "table.merge-engine.versioned.ver-column": "s",
    },
}
SEQUENCES = ("sequence", "descending", "versioned")
FOLDING = ("partial-update", "aggregation")
IDS = itertools.count()


@dataclass(frozen=True)
class Column:
    """A column outside the key; `default` is what INSERTs give it, `initial` what old rows have."""

    name: str
    type: str = "INT"
    default: int | None = None
    initial: int | None = None
    id: int = field(default_factory=lambda: next(IDS))


@dataclass(frozen=True)
class State:
    """The columns and rows of one snapshot, each row's values by the ids of columns. `gone` has the
    sequence of each row that was deleted.
    """

    columns: tuple[Column, ...]
    rows: Mapping[int, Mapping[int, int | None]] = field(default_factory=dict)
    gone: Mapping[int, int | None] = field(default_factory=dict)

    def shown(self) -> dict[int, Row]:
        """The rows by key, their values by the names of columns."""
        return {
            key: {one.name: row.get(one.id, one.initial) for one in self.columns}
            for key, row in self.rows.items()
        }

    def having(self, rows: Mapping[int, Row], gone: Mapping[int, int | None]) -> State:
        """The same columns with other rows, given by the names of columns."""
        ids = {one.name: one.id for one in self.columns}
        stored = {key: {ids[n]: v for n, v in row.items()} for key, row in rows.items()}
        return replace(self, rows=stored, gone=dict(gone))


@dataclass
class Line:
    """The table, or a branch of it."""

    now: State
    newest: int = 0
    snapshots: dict[int, State] = field(default_factory=dict)
    tags: dict[str, tuple[int, State]] = field(default_factory=dict)

    def committed(self, newest: int) -> None:
        """All snapshots that came show the state of now."""
        self.snapshots |= dict.fromkeys(range(self.newest + 1, newest + 1), self.now)
        self.newest = newest

    def cut(self, above: int) -> None:
        """Forget what comes above a snapshot."""
        self.snapshots = {n: state for n, state in self.snapshots.items() if n <= above}
        self.tags = {name: one for name, one in self.tags.items() if one[0] <= above}
        self.newest = above


class Fold:
    """INSERTs and statements on a state, by the rule of an engine."""

    def __init__(self, engine: str) -> None:
        self.engine = engine

    @property
    def takes_deletes(self) -> bool:
        return self.engine != "versioned"

    def insert(self, state: State, rows: Iterable[Row], names: Sequence[str]) -> State:
        """Rows with a key and values of these columns, one after the other."""
        shown, gone = state.shown(), dict(state.gone)
        for row in rows:
            key = row["k"]
            assert key is not None
            if key in gone and self._order(row.get("s")) < self._order(gone[key]):
                continue
            gone.pop(key, None)
            given = {
                one.name: row[one.name]
                if one.name in names
                else (None if self.engine in FOLDING else one.default)
                for one in state.columns
            }
            shown[key] = self._folded(shown.get(key), given)
        return state.having(shown, gone)

    def feed(self, state: State, rows: Iterable[tuple[str, Row]]) -> State:
        """Rows of all kinds, one after the other: -U and -D take the row of a key away, unless
        it, or one that was taken away, is later in a sequence.
        """
        names = [one.name for one in state.columns]
        for kind, row in rows:
            key, shown, gone = row["k"] or 0, state.shown(), dict(state.gone)
            if kind in ("+I", "+U"):
                state = self.insert(state, [row], names)
                continue
            if self.engine in SEQUENCES:
                known = [one["s"] for one in (shown.get(key),) if one is not None]
                known += [gone[key]] if key in gone else []
                if any(self._order(row["s"]) < self._order(one) for one in known):
                    continue
                gone[key] = row["s"]
            shown.pop(key, None)
            state = state.having(shown, gone)
        return state

    def _folded(self, old: Row | None, new: Row) -> Row:
        if old is None or self.engine == "deduplicate":
            return new
        if self.engine == "first-row":
            return old
        if self.engine in SEQUENCES:
            return new if self._order(new["s"]) >= self._order(old["s"]) else old
        given = {name: value for name, value in new.items() if value is not None}
        if self.engine == "aggregation" and new["a"] is not None and old["a"] is not None:
            given["a"] = old["a"] + new["a"]
        return old | given

    def _order(self, value: int | None) -> tuple[bool, int]:
        return value is not None, (value or 0) * (-1 if self.engine == "descending" else 1)

    def becomes(self, state: State, rows: Mapping[int, Row]) -> State:
        """What a statement leaves: rows that it removes stay gone for those that are earlier."""
        gone = {key: one for key, one in state.gone.items() if key not in rows}
        if self.engine in ("sequence", "descending"):
            gone |= {key: row["s"] for key, row in state.shown().items() if key not in rows}
        return state.having(rows, gone)
