"""Random statements, drawn so that each one is allowed, done to a model and to a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol, TypeAlias

from tests.machine.model import Column, Fold, Line, Row, State

KEYS = range(8)
Rows: TypeAlias = Sequence[Row]


@dataclass
class Statement:
    """A DELETE, UPDATE or MERGE: its SQL (`{t}` is the table), and what it does to which rows."""

    sql: str
    command: str
    assigned: Sequence[str] | None = None
    deletes: dict[int, Row] = field(default_factory=dict)
    updates: dict[int, tuple[Row, Row]] = field(default_factory=dict)  # before and after
    moves: dict[int, tuple[int, Row, Row]] = field(default_factory=dict)  # the key before too
    inserts: dict[int, Row] = field(default_factory=dict)

    def after(self, rows: Mapping[int, Row]) -> dict[int, Row]:
        """The rows when it is done."""
        left = {key: row for key, row in rows.items() if key not in self.deletes}
        left |= {key: new for key, (_, new) in self.updates.items()}
        for old, _, _ in self.moves.values():
            del left[old]
        return left | {key: new for key, (_, _, new) in self.moves.items()} | self.inserts


class Driver(Protocol):
    """A table that does what the model does. `line` is a branch, or "" for the table itself."""

    def insert(
        self, line: str, state: State, rows: Sequence[Row], names: Sequence[str]
    ) -> None: ...
    def overwrite(self, line: str, state: State, rows: Sequence[Row]) -> None: ...
    def change(self, line: str, state: State, statement: Statement) -> None: ...
    def alter(self, line: str, do: str, column: Column, to: str = "") -> None: ...
    def compact(self, line: str, strategy: str) -> None: ...
    def expire(self, line: str, kept: int) -> None: ...
    def tag(self, line: str, name: str, snapshot: int) -> None: ...
    def untag(self, line: str, name: str) -> None: ...
    def branch(self, name: str, tag: str) -> None: ...
    def unbranch(self, name: str) -> None: ...
    def forward(self, name: str) -> bool: ...
    def rollback(self, line: str, snapshot: int | None, tag: str | None) -> None: ...
    def newest(self, line: str) -> int: ...
    def read(
        self, line: str, snapshot: int | None = None, tag: str | None = None
    ) -> tuple[list[str], list[Row]]: ...


class Machine:
    """The table, its model, and what was done so far."""

    def __init__(
        self, driver: Driver, engine: str, draw: Random, without: Sequence[str] = ()
    ) -> None:
        self.driver, self.draw, self.fold, self.without = driver, draw, Fold(engine), without
        columns = Column("a"), Column("b"), Column("s")
        self.lines = {"": Line(State(columns), driver.newest(""))}
        self.log: list[str] = []
        self.made = 0
        self.step(self.insert)

    def run(self, steps: int) -> None:
        """So many random statements, each followed by reads; in the end everything is read."""
        for _ in range(steps):
            self.step(self.draw.choices(*zip(*self.weights().items(), strict=True))[0])
        for name in list(self.lines):
            self.check_history(name, self.lines[name])

    def weights(self) -> dict[Callable[[str, Line], None], int]:
        """How often each statement comes."""
        found: dict[Callable[[str, Line], None], int] = {
            self.insert: 6, self.update: 3, self.merge: 3, self.overwrite: 1, self.compact: 3,
            self.add: 1, self.rename: 1, self.drop: 1, self.widen: 1, self.expire: 1,
            self.tag: 2, self.untag: 1, self.branch: 1, self.unbranch: 1, self.forward: 1,
            self.rollback: 1,
        }  # fmt: skip
        found |= {self.delete: 3, self.move: 1} if self.fold.takes_deletes else {}
        return {do: often for do, often in found.items() if do.__name__ not in self.without}

    def step(self, do: Callable[[str, Line], None]) -> None:
        """One statement on one line."""
        name = self.draw.choice(sorted(self.lines))
        self.log.append(f"{do.__name__} {name}")
        do(name, self.lines[name])
        for one in {name, ""} & {*self.lines}:
            line = self.lines[one]
            line.committed(self.driver.newest(one))
            self.check(one, line)

    def told(self, text: object) -> None:
        self.log[-1] += f": {text}"

    # ---- reads ----

    def check(self, name: str, line: Line) -> None:
        """What is read now, and one snapshot or tag of before."""
        self.compare(self.driver.read(name), line.now, f"{name!r} now")
        if line.snapshots:
            at = self.draw.choice(sorted(line.snapshots))
            found = self.driver.read(name, snapshot=at)
            self.compare(found, line.snapshots[at], f"{name!r} at {at}")
        if line.tags:
            tag = self.draw.choice(sorted(line.tags))
            found = self.driver.read(name, tag=tag)
            self.compare(found, line.tags[tag][1], f"{name!r} at tag {tag}")

    def check_history(self, name: str, line: Line) -> None:
        """Every snapshot and tag of a line."""
        for at, state in line.snapshots.items():
            self.compare(self.driver.read(name, snapshot=at), state, f"{name!r} at {at}")
        for tag, (_, state) in line.tags.items():
            self.compare(self.driver.read(name, tag=tag), state, f"{name!r} at tag {tag}")

    def compare(self, found: tuple[list[str], list[Row]], state: State, what: str) -> None:
        names, rows = found
        assert names == ["k", *(one.name for one in state.columns)], (what, self.log)
        expected = [{"k": key} | row for key, row in sorted(state.shown().items())]
        assert sorted(rows, key=lambda row: row["k"] or 0) == expected, (what, self.log)

    # ---- rows ----

    def value(self) -> int | None:
        return self.draw.choice([None, *range(5)])

    def row(self, key: int, names: Sequence[str]) -> Row:
        return {"k": key} | {name: self.value() for name in names}

    def insert(self, name: str, line: Line) -> None:
        every = [one.name for one in line.now.columns]
        some = every if self.draw.random() < 0.7 else self.draw.sample(every, 1)
        rows = [self.row(key, some) for key in self.draw.sample(KEYS, 3)]
        self.told(rows)
        self.driver.insert(name, line.now, rows, some)
        line.now = self.fold.insert(line.now, rows, some)

    def overwrite(self, name: str, line: Line) -> None:
        every = [one.name for one in line.now.columns]
        rows = [self.row(key, every) for key in self.draw.sample(KEYS, 3)]
        self.told(rows)
        self.driver.overwrite(name, line.now, rows)
        line.now = self.fold.insert(line.now.having({}, {}), rows, every)

    def change(self, name: str, line: Line, statement: Statement) -> None:
        self.told(statement.sql)
        self.driver.change(name, line.now, statement)
        line.now = self.fold.becomes(line.now, statement.after(line.now.shown()))

    def delete(self, name: str, line: Line) -> None:
        column, least = self.draw.choice(line.now.columns).name, self.draw.randrange(5)
        hits = passing(line.now, column, least)
        sql = f"DELETE FROM {{t}} WHERE {column} >= {least}"
        self.change(name, line, Statement(sql, "DELETE", deletes=hits))

    def update(self, name: str, line: Line) -> None:
        column, least = self.draw.choice(line.now.columns).name, self.draw.randrange(5)
        to = {one.name: self.value() for one in self.draw.sample(line.now.columns, 1)}
        hits = passing(line.now, column, least)
        sets = ", ".join(f"{one} = {text(value)}" for one, value in to.items())
        sql = f"UPDATE {{t}} SET {sets} WHERE {column} >= {least}"
        updates = {key: (row, row | to) for key, row in hits.items()}
        self.change(name, line, Statement(sql, "UPDATE", [*to], updates=updates))

    def move(self, name: str, line: Line) -> None:
        column, least = self.draw.choice(line.now.columns).name, self.draw.randrange(5)
        hits = passing(line.now, column, least)
        sql = f"UPDATE {{t}} SET k = k + 1 WHERE {column} >= {least}"
        moves = {key + 1: (key, row, row) for key, row in hits.items()}
        self.change(name, line, Statement(sql, "UPDATE", ["k"], moves=moves))

    def merge(self, name: str, line: Line) -> None:
        """All clauses, each there or not; updates of one column, by the source or to NULL."""
        every = [one.name for one in line.now.columns]
        column = self.draw.choice(every)
        source = {key: self.row(key, every) for key in self.draw.sample(KEYS, 4)}
        deletes, inserts, rest = (self.draw.random() < 0.6 for _ in range(3))
        deletes &= self.fold.takes_deletes
        clauses, one = [], Statement("", "MERGE", [column])
        for key, row in line.now.shown().items():
            new = source.get(key)
            if new is None and rest and (row[column] or 0) >= 3:
                one.updates[key] = (row, row | {column: None})
            elif new is not None and deletes and new[column] == 0:
                one.deletes[key] = row
            elif new is not None:
                one.updates[key] = (row, row | {column: new[column]})
        if deletes:
            clauses.append(f"WHEN MATCHED AND v.{column} = 0 THEN DELETE")
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {column} = v.{column}")
        if inserts:
            missing = {key: row for key, row in source.items() if key not in line.now.rows}
            one.inserts = {key: without_key(row) for key, row in missing.items()}
            names = ["k", *every]
            values = ", ".join(f"v.{name}" for name in names)
            clauses.append(f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})")
        if rest:
            sets = f"UPDATE SET {column} = NULL"
            clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{column} >= 3 THEN {sets}")
        given = f"(SELECT * FROM {values_of([*source.values()], line.now)})"
        one.sql = f"MERGE INTO {{t}} t USING {given} v ON t.k = v.k {' '.join(clauses)}"
        self.change(name, line, one)

    # ---- columns ----

    def add(self, name: str, line: Line) -> None:
        default = self.draw.choice([None, 7])
        self.made += 1
        column = Column(f"c{self.made}", default=default, initial=default if line.newest else None)
        self.alter(name, line, "add", column, (*line.now.columns, column))

    def rename(self, name: str, line: Line) -> None:
        self.made += 1
        one = self.draw.choice(self.free(line) or [None])
        if one is not None:
            self.replaced(name, line, "rename", one, replace(one, name=f"c{self.made}"))

    def drop(self, name: str, line: Line) -> None:
        one = self.draw.choice(self.free(line) or [None])
        if one is not None:
            self.alter(name, line, "drop", one, tuple(o for o in line.now.columns if o != one))

    def widen(self, name: str, line: Line) -> None:
        free = [one for one in self.free(line) if one.type == "INT"]
        if free:
            one = self.draw.choice(free)
            self.replaced(name, line, "widen", one, replace(one, type="BIGINT"))

    def free(self, line: Line) -> list[Column]:
        """The columns that no option names."""
        return [one for one in line.now.columns if one.name not in ("a", "s")]

    def replaced(self, name: str, line: Line, do: str, one: Column, by: Column) -> None:
        columns = tuple(by if other == one else other for other in line.now.columns)
        self.alter(name, line, do, one, columns, by.name)

    def alter(
        self, name: str, line: Line, do: str, one: Column, columns: tuple[Column, ...], to: str = ""
    ) -> None:
        self.told(f"{do} {one} {to}")
        self.driver.alter(name, do, one, to)
        line.now = replace(line.now, columns=columns)

    # ---- history ----

    def compact(self, name: str, line: Line) -> None:
        self.driver.compact(name, self.draw.choice(["full", "minor"]))

    def expire(self, name: str, line: Line) -> None:
        kept = self.draw.randrange(1, 4)
        self.told(kept)
        self.driver.expire(name, kept)
        for number in sorted(line.snapshots)[:-kept]:
            del line.snapshots[number]

    def tag(self, name: str, line: Line) -> None:
        if line.snapshots:
            self.made += 1
            tag, number = f"tag{self.made}", self.draw.choice(sorted(line.snapshots))
            self.told((tag, number))
            self.driver.tag(name, tag, number)
            line.tags[tag] = number, line.snapshots[number]

    def untag(self, name: str, line: Line) -> None:
        if line.tags:
            tag = self.draw.choice(sorted(line.tags))
            self.told(tag)
            self.driver.untag(name, tag)
            del line.tags[tag]

    def branch(self, name: str, line: Line) -> None:
        main = self.lines[""]
        if main.tags and len(self.lines) < 3:
            self.made += 1
            tag, made = self.draw.choice(sorted(main.tags)), f"b{self.made}"
            self.told((made, tag))
            self.driver.branch(made, tag)
            number, state = main.tags[tag]
            self.lines[made] = Line(state, number, {number: state}, {tag: (number, state)})

    def unbranch(self, name: str, line: Line) -> None:
        if name:
            self.driver.unbranch(name)
            del self.lines[name]

    def forward(self, name: str, line: Line) -> None:
        main = self.lines[""]
        if name and self.driver.forward(name):
            mine = {*main.snapshots, *(n for n, _ in main.tags.values())}
            fork = max(n for n in line.snapshots if n in mine and is_of(main, line, n))
            main.cut(fork)
            main.snapshots |= {n: state for n, state in line.snapshots.items() if n >= fork}
            main.tags = line.tags | main.tags
            main.now, main.newest = line.now, line.newest

    def rollback(self, name: str, line: Line) -> None:
        targets: dict[tuple[int | None, str | None], tuple[int, State]] = {
            (number, None): (number, state) for number, state in line.snapshots.items()
        }
        targets |= {(None, tag): found for tag, found in line.tags.items()}
        if targets:
            target = self.draw.choice(sorted(targets, key=str))
            number, state = targets[target]
            self.told(target)
            self.driver.rollback(name, *target)
            line.cut(number)
            line.snapshots[number] = state
            line.now = replace(state, columns=line.now.columns)


def is_of(main: Line, line: Line, number: int) -> bool:
    """Whether both have the same snapshot of a number."""
    mine = [state for at, state in main.tags.values() if at == number]
    mine += [main.snapshots[number]] if number in main.snapshots else []
    return any(state is line.snapshots[number] for state in mine)


def passing(state: State, column: str, least: int) -> dict[int, Row]:
    """The rows whose value is not less."""
    return {
        key: row for key, row in state.shown().items() if (found := row[column]) is not None
        and found >= least
    }  # fmt: skip


def without_key(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "k"}


def text(value: int | None) -> str:
    """A value in SQL."""
    return "NULL" if value is None else str(value)


def values_of(rows: Sequence[Row], state: State) -> str:
    """A source in SQL, with the columns of the state."""
    names = [*rows[0]]
    types = {one.name: one.type for one in state.columns} | {"k": "INT"}
    each = (
        ", ".join(f"CAST({text(row[name])} AS {types[name]})" for name in names) for row in rows
    )
    return f"VALUES {', '.join(f'({one})' for one in each)} AS s({', '.join(names)})"
