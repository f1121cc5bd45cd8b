"""The machine's table with partitions and with a base: many rows that no statement names, so that a
compaction leaves their files alone. Statements about whole partitions go by files where they may.
If keys may be NULL, one of them is; if rows bring their kinds, a column that nobody reads has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa

import keyfold
from keyfold.compact.running_job import compacted
from keyfold.kernels.ops import DELETE
from keyfold.questions import partitions
from keyfold.tables import calls
from keyfold.write import jobs as writes
from tests.concurrency.jobs import Changes, Place, options_of, question
from tests.machine.direct import Direct, stored
from tests.machine.model import ENGINES, Row, State
from tests.machine.steps import Statement
from tests.read import harness

NUMBERS = ("p", "k", "a", "b", "s")
PARTS = 3
BASE = range(1000, 1240)
LETTERS = 300  # of each of its rows: its files are larger than those of statements
NULLED = 7  # the key that is stored as NULL where that may be


def part_of(key: int | None) -> int:
    """The partition of a key, stored or not."""
    return (NULLED if key is None else key) % PARTS


class Partitioned(Direct):
    """The table `t (p, k, a, b, s, pad)`, partitioned by p, which the key decides. Rows of the base
    alone have a `pad`. With a `rowkind.field` there is a column `op`.
    """

    def __init__(self, place: Place, engine: str, options: dict[str, str], draw: Random) -> None:
        self.place, given = place, dict(options_of(place))
        self.catalog = keyfold.connect(given.pop("warehouse"), threads=1, **given)
        kinds = dict.fromkeys(["op"] if "rowkind.field" in options else [], "STRING")
        self.has_kinds, self.nulled = bool(kinds), options.get("primary-key.nullable") == "true"
        self.main = self.catalog.create_table(
            "t",
            dict.fromkeys(NUMBERS, "INT") | {"pad": "STRING"} | kinds,
            ["p", "k"],
            partitions=["p"],
            options={**ENGINES[engine], **options},
        )
        based = [self._of_base(key, draw) for key in BASE] if draw.random() < 0.7 else []
        self.base = {row["k"]: {name: row[name] for name in NUMBERS} for row in based}
        if based:
            fields = [*((name, pa.int32()) for name in NUMBERS), ("pad", pa.string())]
            self.main.upsert(self._kinded(pa.Table.from_pylist(based, pa.schema(fields)), None))
            self.main.compact()

    def _of_base(self, key: int, draw: Random) -> dict[str, Any]:
        pad = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=LETTERS))
        row: Row = {"k": key, "a": draw.randrange(1 << 20), "b": key, "s": key % 5}
        return self.placed(row) | {"pad": pad}

    def _kinded(self, rows: pa.Table, kinds: Sequence[str] | None) -> pa.Table:
        """The rows with their kinds, +I if none are given, as the table takes them."""
        if not self.has_kinds:
            assert kinds is None
            return rows
        return rows.append_column("op", pa.array(kinds or ["+I"] * len(rows), pa.string()))

    def placed(self, row: Row) -> Row:
        """The row as it is stored, with its partition."""
        key = None if self.nulled and row["k"] == NULLED else row["k"]
        return {"p": part_of(key)} | row | {"k": key}

    def _key(self, row: Row) -> int:
        """The key of a stored row."""
        assert self.nulled or row["k"] is not None
        return NULLED if row["k"] is None else row["k"]

    def rows(self, state: State, rows: Sequence[Row], names: Sequence[str]) -> pa.Table:
        placed = [self.placed(row) for row in rows]
        found = super().rows(state, placed, names)
        parts = pa.array([row["p"] for row in placed], pa.int32())
        return self._kinded(found.append_column("p", parts), None)

    def feed(self, line: str, state: State, rows: Sequence[tuple[str, Row]]) -> None:
        """Rows of all kinds, in one job."""
        found = self.rows(state, [row for _, row in rows], [one.name for one in state.columns])
        kinds = [kind for kind, _ in rows]
        self.table(line).upsert(self._kinded(found.drop_columns("op"), kinds))

    def feed_whole(self, line: str, state: State, rows: Sequence[tuple[str, Row]]) -> None:
        """And they name all columns, so that no record has a mark."""
        names = [one.name for one in state.columns]
        found = self.rows(state, [row for _, row in rows], names).drop_columns("op")
        found = found.append_column("pad", pa.nulls(len(rows), pa.string()))
        self.table(line).upsert(self._kinded(found, [kind for kind, _ in rows]))

    def rescale(self, line: str, buckets: int) -> None:
        self.table(line).rescale(buckets)

    def change(self, line: str, state: State, statement: Statement) -> None:
        """The statement, and the compaction that Spark runs after it."""
        super().change(line, state, statement)
        table = self.table(line)
        if not table._load().options.write_only:
            with table._session.working():
                compacted(calls.Here(table._session), table._load, "auto")

    def records(self, statement: Statement) -> list[tuple[int, dict[str, Any]]]:
        more: dict[str, Any] = {"op": "+I"} if self.has_kinds else {}
        return [(kind, self.placed(row) | more) for kind, row in super().records(statement)]

    def whole(self, line: str) -> list[dict[str, Any]]:
        """All rows that a scan shows, those of the base too."""
        return self.table(line).scan(NUMBERS).to_pylist()

    def read(
        self, line: str, snapshot: int | None = None, tag: str | None = None
    ) -> tuple[list[str], list[Row]]:
        names, rows = super().read(line, snapshot, tag)
        assert all(row["p"] == part_of(row["k"]) for row in rows)
        of_base = {row["k"]: row for row in rows if row["k"] in self.base}
        parts = {part_of(key) for key in of_base}
        assert {key: {name: row[name] for name in NUMBERS} for key, row in of_base.items()} == {
            key: row for key, row in self.base.items() if part_of(key) in parts
        }, "not the base"
        names = [name for name in names if name not in ("p", "pad", "op")]
        own = [row | {"k": self._key(row)} for row in rows if row["k"] not in self.base]
        assert all(row["pad"] is None for row in own)
        return names, [{name: row[name] for name in names} for row in own]

    def clear(self, line: str, part: int) -> None:
        """DELETE … WHERE p = part, as Spark does it: by files where the table allows that."""
        name = f"t$branch_{line}" if line else "t"
        table = self.table(line)._load()
        if table.describe()["deletes_partitions"]:
            writes.delete_partitions(table, [harness.where("<=>", "p", part, type="integer")])
            return
        every = [row for row in self.whole(line) if row["p"] == part]
        found = [(DELETE, row | stored(row)) for row in every]
        Changes(self.place, found, "DELETE", name=name).run(2).commit()

    def drop(self, line: str, part: int) -> None:
        """DROP PARTITION."""
        named = [harness.where("<=>", "p", part, type="integer").to_json()]
        partitions.drop_partitions(
            question(self.table(line)._load(), self.place, partitions=[named])
        )
