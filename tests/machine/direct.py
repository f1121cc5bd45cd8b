"""The machine's table without Spark: what programs call, and for statements that change rows what
their tasks and their commit do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import keyfold
from keyfold import NotSupportedError, Table
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER
from keyfold.write.row_changes import MOVED
from tests.concurrency import jobs
from tests.concurrency.jobs import Changes, Place, options_of
from tests.machine.model import ENGINES, Column, Row, State
from tests.machine.steps import Statement

TYPES = {"INT": "integer", "BIGINT": "long"}


class Direct:
    """The table `t` of a warehouse."""

    def __init__(self, place: Place, engine: str, options: dict[str, str]) -> None:
        self.place, given = place, dict(options_of(place))
        columns = dict.fromkeys(("k", "a", "b", "s"), "INT")
        catalog = keyfold.connect(given.pop("warehouse"), threads=1, **given)
        self.main = catalog.create_table(
            "t", columns, ["k"], options={"bucket": "2", **ENGINES[engine], **options}
        )

    def table(self, line: str) -> Table:
        return self.main.branches[line] if line else self.main

    def rows(self, state: State, rows: Sequence[Row], names: Sequence[str]) -> pa.Table:
        types = {one.name: one.type for one in state.columns} | {"k": "INT"}
        kinds = {"INT": pa.int32(), "BIGINT": pa.int64()}
        schema = pa.schema([(name, kinds[types[name]]) for name in ("k", *names)])
        return pa.Table.from_pylist(list(rows), schema)

    def insert(self, line: str, state: State, rows: Sequence[Row], names: Sequence[str]) -> None:
        self.table(line).upsert(self.rows(state, rows, names))

    def overwrite(self, line: str, state: State, rows: Sequence[Row]) -> None:
        names = [one.name for one in state.columns]
        self.table(line).overwrite(self.rows(state, rows, names))

    def change(self, line: str, state: State, statement: Statement) -> None:
        found, name = self.records(statement), f"t$branch_{line}" if line else "t"
        command, assigned = statement.command, statement.assigned
        Changes(self.place, found, command, assigned=assigned, name=name).run(2).commit()

    def records(self, statement: Statement) -> list[tuple[int, dict[str, Any]]]:
        """The rows that a statement's tasks write, with their kinds."""
        found: list[tuple[int, dict[str, Any]]] = []
        for key, row in statement.deletes.items():
            found.append((DELETE, {"k": key} | stored(row)))
        for key, (row, new) in statement.updates.items():
            found.append((UPDATE_AFTER, {"k": key} | new | stored(row)))
        for key, (old, row, new) in statement.moves.items():
            found.append((DELETE, {"k": old} | stored(row)))
            found.append((MOVED, {"k": key} | new | stored(row)))
        for key, new in statement.inserts.items():
            found.append((INSERT, {"k": key} | new))
        return found

    def alter(self, line: str, do: str, column: Column, to: str = "") -> None:
        asked: dict[str, Any] = {"name": [column.name]}
        if do == "add":
            asked |= {"change": "add_column", "type": TYPES[column.type]}
            if column.default is not None:
                literal = {"literal": column.default, "type": "integer"}
                asked |= {"default": str(column.default), "default_value": literal}
        elif do == "rename":
            asked |= {"change": "rename_column", "to": to}
        elif do == "drop":
            asked |= {"change": "delete_column"}
        else:
            asked |= {"change": "update_column_type", "type": "long"}
        name = f"t$branch_{line}" if line else "t"
        jobs.catalog(self.place).alter_table(["default"], name, [asked])

    def compact(self, line: str, strategy: str) -> None:
        self.table(line).compact(strategy)

    def expire(self, line: str, kept: int) -> None:
        self.table(line).expire(retain_max=kept, retain_min=kept)

    def tag(self, line: str, name: str, snapshot: int) -> None:
        self.table(line).tags.create(name, snapshot)

    def untag(self, line: str, name: str) -> None:
        self.table(line).tags.delete(name)

    def branch(self, name: str, tag: str) -> None:
        self.main.branches.create(name, tag)

    def unbranch(self, name: str) -> None:
        self.main.branches.delete(name)

    def forward(self, name: str) -> bool:
        try:
            self.main.branches.fast_forward(name)
        except NotSupportedError:
            return False
        return True

    def rollback(self, line: str, snapshot: int | None, tag: str | None) -> None:
        self.table(line).rollback(snapshot=snapshot, tag=tag)

    def newest(self, line: str) -> int:
        return self.table(line)._load().snapshot_id or 0

    def read(
        self, line: str, snapshot: int | None = None, tag: str | None = None
    ) -> tuple[list[str], list[Row]]:
        found = self.table(line).scan(snapshot=snapshot, tag=tag).to_arrow()
        return found.schema.names, found.to_pylist()


def stored(row: Row) -> Row:
    """The stored values, as a scan adds them."""
    return {f"_STORED_{name}": value for name, value in row.items()}
