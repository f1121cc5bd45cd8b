"""A plain Python model of a table that is altered between writes, and tables that follow it.

A record holds its values by the ids of the columns and fields of then. What it has in a column of
today is what stands under that column's id, or, where there is none, the constant the column was
added with. Nothing here knows of files.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from keyfold.storage.commits import commit
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write.writer import write
from tests.compact import harness as compaction
from tests.read import harness
from tests.storage import tables
from tests.storage.tables import catalog, column, new_table

KEYS = 6
WIDER = {
    "integer": ("long", "decimal(12,2)"),
    "long": ("decimal(22,2)",),
    "decimal(12,2)": ("decimal(22,2)",),
    "float": ("double",),
    "varchar(3)": ("varchar(9)", "string"),
}
ATOMIC = ("integer", "long", "float", "varchar(3)", "string", "date", "decimal(12,2)")
NAMES = ("a", "b", "c", "d", "e")
IDS = itertools.count(1000)


@dataclass
class Node:
    """A column or a field: `kind` is an atomic type, or struct, array or map (of structs)."""

    name: str
    kind: str
    initial: Any = None
    fields: list[Node] = field(default_factory=list)
    sums: bool = False
    id: int = field(default_factory=lambda: next(IDS))

    @property
    def spark(self) -> Any:
        """Spark's type."""
        if self.kind in ATOMIC or not self.fields:
            return self.kind
        inner = {
            "type": "struct",
            "fields": [{"name": f.name, "type": f.spark, "nullable": True} for f in self.fields],
        }
        if self.kind == "array":
            return {"type": "array", "elementType": inner, "containsNull": True}
        if self.kind == "map":
            keys = {"keyType": "integer", "valueContainsNull": True}
            return {"type": "map", "valueType": inner, **keys}
        return inner

    @property
    def path(self) -> list[str]:
        """The path of its struct, from the column on."""
        return [self.name, *{"array": ["element"], "map": ["value"]}.get(self.kind, [])]

    def draw(self, random: Random) -> Any:
        """A value by ids."""
        if random.random() < 0.25:
            return None
        if not self.fields:
            return atom(self.kind, random)
        if self.kind == "array":
            return [self._struct(random) for _ in range(random.randrange(3))]
        if self.kind == "map":
            return [(key, self._struct(random)) for key in range(random.randrange(3))]
        return self._struct(random)

    def _struct(self, random: Random) -> dict[int, Any] | None:
        if random.random() < 0.2:
            return None
        return {one.id: one.draw(random) for one in self.fields}

    def shown(self, value: Any) -> Any:
        """A value as rows of today show it."""
        if value is None or not self.fields:
            return value
        if self.kind == "array":
            return [self._shown_struct(one) for one in value]
        if self.kind == "map":
            return [(key, self._shown_struct(one)) for key, one in value]
        return self._shown_struct(value)

    def _shown_struct(self, value: dict[int, Any] | None) -> Any:
        if value is None:
            return None
        return {one.name: one.shown(value.get(one.id)) for one in self.fields}


def atom(kind: str, random: Random) -> Any:
    """A value that is exact in every wider type."""
    number = random.randrange(-3, 4)
    if kind in ("string", "varchar(3)", "varchar(9)"):
        return f"t{number}"
    if kind in ("float", "double"):
        return number / 2
    if kind.startswith("decimal"):
        return Decimal(number) / 4
    if kind == "date":
        return datetime.date(2024, 1, 15 + number)
    return number


@dataclass
class Record:
    """One record of a key, by ids of columns; `number` orders them."""

    key: int
    values: dict[int, Any]
    number: int


@dataclass
class Model:
    """The columns of today, the key aside, and all records."""

    engine: str
    columns: list[Node]
    records: list[Record] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        """What a reader sees, by key."""
        by_key: dict[int, list[Record]] = {}
        for record in sorted(self.records, key=lambda one: one.number):
            by_key.setdefault(record.key, []).append(record)
        return [{"k": key} | self._folded(by_key[key]) for key in sorted(by_key)]

    def _folded(self, records: Sequence[Record]) -> dict[str, Any]:
        return {one.name: one.shown(self._value(one, records)) for one in self.columns}

    def _value(self, one: Node, records: Sequence[Record]) -> Any:
        values = [record.values.get(one.id, one.initial) for record in records]
        if self.engine == "deduplicate":
            return values[-1]
        if self.engine == "first-row":
            return values[0]
        found = [value for value in values if value is not None]
        if one.sums:
            return sum(found) if found else None
        return found[-1] if found else None


@dataclass
class Altered:
    """A table and its model, which random steps change alike."""

    table: Table
    model: Model
    random: Random
    pending: list[tuple[WriteSpec, list[CommitMessage], list[Record]]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    @staticmethod
    def made(folder: Path, engine: str, random: Random) -> Altered:
        """An empty table of a few columns."""
        columns = [
            Node("n", "integer", sums=engine == "aggregation"),
            Node("a", "varchar(3)"),
            Node("s", "struct", fields=[Node("x", "integer"), Node("y", "float")]),
            Node("l", "array", fields=[Node("x", "string"), Node("y", "integer")]),
            Node("m", "map", fields=[Node("x", "float"), Node("y", "string")]),
        ]
        options = {"merge_engine": engine, "write_only": "true"}
        if engine == "aggregation":
            options["fields__n__aggregate_function"] = "sum"
        declared = [column(one.name, one.spark) for one in columns]
        table = tables.table(folder, new_table(column("k"), *declared, **options))
        return Altered(table, Model(engine, columns), random)

    @property
    def has_data(self) -> bool:
        """Whether a commit was made."""
        return tables.reload(self.table).snapshot_id is not None

    def alter(self, change: str, name: Sequence[str], **more: Any) -> None:
        """One ALTER TABLE."""
        folder = Path(self.table.layout.location).parent.parent
        asked = {"change": change, "name": list(name)} | more
        self.table = catalog(folder).alter_table(["default"], "t", [asked])

    # ---- jobs ----

    def insert(self) -> None:
        """A job that is planned and committed."""
        self.plan_job()
        self.commit_jobs()

    def plan_job(self) -> None:
        """A job that wrote its files and has not committed."""
        spec = harness.job(self.table.layout)
        keys = self.random.sample(range(KEYS), self.random.randrange(1, KEYS))
        records = [
            Record(
                key, {one.id: one.draw(self.random) for one in self.model.columns}, spec.sequence
            )
            for key in keys
        ]
        rows = [
            {"k": record.key}
            | {one.name: one.shown(record.values[one.id]) for one in self.model.columns}
            for record in records
        ]
        messages = write(spec, harness.batches(self.table.layout, rows))
        self.pending.append((spec, messages, records))

    def commit_jobs(self) -> None:
        """Commit all that is written."""
        for spec, messages, records in self.pending:
            commit.append(tables.reload(self.table), spec, messages)
            self.model.records += records
        self.pending = []

    def compact(self) -> None:
        """All runs become one."""
        self.commit_jobs()
        for outcome in compaction.compact(self.table, self.random.choice(("full", "minor"))):
            assert outcome["outcome"] == "committed", outcome

    def delete(self) -> None:
        """DELETE by key, asked under the schema this table was loaded at."""
        self.commit_jobs()
        key = self.random.randrange(KEYS)
        harness.delete(self.table, {"k": key})
        self.model.records = [one for one in self.model.records if one.key != key]

    # ---- changes of columns ----

    def add(self) -> None:
        """A column, or a field of a column, under a new name or one that was dropped."""
        siblings, path = self._siblings()
        taken = {one.name for one in siblings}
        free = [name for name in (*self.dropped, *NAMES) if name not in taken]
        if not free:
            return
        made = Node(self.random.choice(free), self.random.choice(ATOMIC))
        more: dict[str, Any] = {}
        if not path and self.random.random() < 0.4:
            value = atom(made.kind, self.random)
            more = {"default": repr(value), "default_value": wire(value, made.kind)}
            made.initial = value if self.has_data else None
        place = self._place(siblings, made, path)
        self.alter("add_column", [*path, made.name], type=made.kind, position=place, **more)

    def drop(self) -> None:
        """A column or field; one always stays."""
        siblings, path = self._siblings()
        if len(siblings) < 2:
            return
        gone = self.random.choice([one for one in siblings if not one.sums])
        siblings.remove(gone)
        self.dropped.append(gone.name)
        self.alter("delete_column", [*path, gone.name])

    def rename(self) -> None:
        """Another name, of what was dropped maybe."""
        siblings, path = self._siblings()
        one, taken = self.random.choice(siblings), {other.name for other in siblings}
        free = [name for name in (*self.dropped, *NAMES) if name not in taken]
        if not free:
            return
        old, one.name = one.name, self.random.choice(free)
        self.alter("rename_column", [*path, old], to=one.name)

    def move(self) -> None:
        """Another place."""
        siblings, path = self._siblings()
        one = self.random.choice(siblings)
        siblings.remove(one)
        place = self._place(siblings, one, path)
        self.alter("update_column_position", [*path, one.name], position=place)

    def widen(self) -> None:
        """A wider type."""
        siblings, path = self._siblings()
        wide = [one for one in siblings if one.kind in WIDER]
        if wide:
            one = self.random.choice(wide)
            one.kind = self.random.choice(WIDER[one.kind])
            self.alter("update_column_type", [*path, one.name], type=one.kind)

    def _siblings(self) -> tuple[list[Node], list[str]]:
        """The columns, or the fields of one of them, and the path there."""
        nested = [one for one in self.model.columns if one.fields]
        if nested and self.random.random() < 0.5:
            one = self.random.choice(nested)
            return one.fields, one.path
        return self.model.columns, []

    def _place(self, siblings: list[Node], one: Node, path: list[str]) -> dict[str, str]:
        """Put it first, or behind another."""
        at = self.random.randrange(len(siblings) + 1)
        siblings.insert(at, one)
        if at == 0:
            # The key stays where it is: before the table's first column here.
            return {"first": ""} if path else {"after": "k"}
        return {"after": siblings[at - 1].name}


def wire(value: Any, kind: str) -> dict[str, Any]:
    """A literal as the JVM writes it."""
    if isinstance(value, datetime.date):
        return {"literal": (value - datetime.date(1970, 1, 1)).days, "type": kind}
    return {"literal": str(value) if isinstance(value, Decimal) else value, "type": kind}


STEPS: dict[Callable[[Altered], None], int] = {
    Altered.insert: 6,
    Altered.plan_job: 2,
    Altered.compact: 2,
    Altered.delete: 1,
    Altered.add: 4,
    Altered.drop: 3,
    Altered.rename: 3,
    Altered.move: 2,
    Altered.widen: 3,
}
