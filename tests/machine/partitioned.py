"""The machine's table with partitions and with a base: many rows that no statement names, so that a
compaction leaves their files alone. Statements about whole partitions go by files where they may.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa

import keyfold
from keyfold.kernels.ops import DELETE
from keyfold.questions import partitions
from keyfold.tables import compaction
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


def part_of(key: int) -> int:
    """The partition of a key."""
    return key % PARTS


class Partitioned(Direct):
    """The table `t (p, k, a, b, s, pad)`, partitioned by p, which the key decides. Rows of the base
    alone have a `pad`.
    """

    def __init__(self, place: Place, engine: str, options: dict[str, str], draw: Random) -> None:
        self.place, given = place, dict(options_of(place))
        self.catalog = keyfold.connect(given.pop("warehouse"), threads=1, **given)
        self.main = self.catalog.create_table(
            "t",
            dict.fromkeys(NUMBERS, "INT") | {"pad": "STRING"},
            ["p", "k"],
            partitions=["p"],
            options={"bucket": "1", **ENGINES[engine], **options},
        )
        self.base = BASE if draw.random() < 0.7 else range(0)
        if self.base:
            fields = [*((name, pa.int32()) for name in NUMBERS), ("pad", pa.string())]
            rows = [self._of_base(key, draw) for key in self.base]
            self.main.upsert(pa.Table.from_pylist(rows, pa.schema(fields)))
            self.main.compact()

    @staticmethod
    def _of_base(key: int, draw: Random) -> dict[str, Any]:
        pad = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=LETTERS))
        return placed({"k": key, "a": draw.randrange(1 << 20), "b": key, "s": key % 5}) | {
            "pad": pad
        }

    def rows(self, state: State, rows: Sequence[Row], names: Sequence[str]) -> pa.Table:
        found = super().rows(state, rows, names)
        parts = pa.array([part_of(row["k"] or 0) for row in rows], pa.int32())
        return found.append_column("p", parts)

    def change(self, line: str, state: State, statement: Statement) -> None:
        """The statement, and the compaction that Spark runs after it."""
        super().change(line, state, statement)
        table = self.table(line)
        if not table._load().options.write_only:
            compaction.compacted(table._session, table._load, "auto")

    def records(self, statement: Statement) -> list[tuple[int, dict[str, Any]]]:
        return [(kind, placed(row)) for kind, row in super().records(statement)]

    def whole(self, line: str) -> list[dict[str, Any]]:
        """All rows that a scan shows, those of the base too."""
        return self.table(line).scan(NUMBERS).to_pylist()

    def read(
        self, line: str, snapshot: int | None = None, tag: str | None = None
    ) -> tuple[list[str], list[Row]]:
        names, rows = super().read(line, snapshot, tag)
        assert all(row["p"] == part_of(row["k"] or 0) for row in rows)
        of_base = sorted(row["k"] or 0 for row in rows if (row["k"] or 0) in self.base)
        parts = {part_of(key) for key in of_base}
        assert of_base == [key for key in self.base if part_of(key) in parts], "part of the base"
        names = [name for name in names if name not in ("p", "pad")]
        own = [row for row in rows if (row["k"] or 0) not in self.base]
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


def placed(row: Row) -> Row:
    """The row with its partition."""
    return {"p": part_of(row["k"] or 0)} | row
