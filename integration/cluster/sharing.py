"""What three sides do with one table in turn, and that all of them then read the same rows.

`python -m integration.cluster.sharing --seeds 200` runs more histories than test_shared.py does.
"""

from __future__ import annotations

import argparse
import base64
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from integration.faults.histories import ENGINES, FIRST_ROW, History, history
from integration.paimon import library
from integration.paimon.bench import in_order
from integration.paimon.library import Paimon
from integration.paimon.sides import Change, Java, Keyfold, Pypaimon, Refused, Side
from keyfold.types import logical
from keyfold.types import spark as spark_types
from keyfold.wire.layout import TableLayout

STEPS = 8
FILTERS = 3
COMPARISONS = {"=": pc.equal, "<": pc.less, ">": pc.greater, ">=": pc.greater_equal}
# What sides refuse by design, and what pypaimon 2.1.0 can't do: (side, what, words).
REFUSALS = (
    ("pypaimon", "read|write", r"fields\.\w+\.sequence-group"),
    ("java", "compact", r"class \[B cannot be cast to class java.lang.Comparable"),  # BYTES keys
    ("pypaimon", "write", "list element must be dict, got <class 'tuple'>"),  # merge_map
    ("pypaimon", "read", "Could not convert .* with type (dict|tuple)"),  # merge_map
)


class Sharing:
    """Three sides in one warehouse; what was refused is counted."""

    def __init__(self, own: Keyfold, paimon: Paimon, padded: str = "CHAR(3)") -> None:
        self.sides: dict[str, Side] = {
            "keyfold": own,
            "pypaimon": Pypaimon(own.warehouse),
            "java": Java(own.warehouse, paimon),
        }
        self.padded = padded
        self.done: Counter[str] = Counter()

    def run(self, seed: str, engine: str) -> None:
        """One history; AssertionError, with its steps, where the sides disagree."""
        told = history(seed, engine, self.padded)
        steps = _Steps(self, told)
        try:
            steps.run()
        except Exception as error:
            error.add_note(f"seed {seed}, engine {engine}: {told.shape}\n{steps.taken}")
            raise

    def did(self, side: str, what: str, error: Refused | None = None) -> bool:
        """Count what was done; a refusal must be a known one."""
        self.done[f"{side} {what}{' refused' if error else ''}"] += 1
        if error is None:
            return True
        if not any(
            side == who and re.fullmatch(asked, what) and re.search(words, str(error))
            for who, asked, words in REFUSALS
        ):
            raise error
        return False


class _Steps:
    """One history as it runs."""

    def __init__(self, sharing: Sharing, told: History) -> None:
        self.sharing, self.told, self.random = sharing, told, told.random
        self.name = told.shape.name
        self.taken: list[str] = []

    @property
    def layout(self) -> TableLayout:
        """The table's columns as they are now."""
        return self.keyfold.table(self.name).layout

    @property
    def keyfold(self) -> Keyfold:
        """Our own side."""
        own = self.sharing.sides["keyfold"]
        assert isinstance(own, Keyfold)
        return own

    @property
    def makers(self) -> list[str]:
        """Who may make or alter the table: Java's library writes NULL to keys, but its schemas
        know none.
        """
        is_nullable = self.told.shape.has_nullable_key
        return [name for name in self.sharing.sides if name != "java" or not is_nullable]

    def run(self) -> None:
        creators = self.makers
        if self.told.is_foreign:
            creators = [name for name in creators if name != "keyfold"]
        creator = self.random.choice(creators)
        self.taken.append(f"{creator} create")
        self.sharing.sides[creator].create(self.told.shape)
        self.write()
        for _ in range(STEPS):
            step = self.random.choice(
                (self.write, self.write, self.write, self.compact, self.alter)
            )
            step()
        self.check()
        self.compact(True)
        self.check()

    def write(self) -> None:
        side = self.random.choice(list(self.sharing.sides))
        # pypaimon stores deletes with a delete count of 0, by which it and Java show their rows
        kinds = (0, 2) if side == "pypaimon" and self.told.engine == "deletes" else self.told.kinds
        # Java's writer lets the greatest of a job win, though the order be descending
        options = self.told.shape.options
        distinct = side == "java" and options.get("sequence.field.sort-order") == "descending"
        rows = self.told.job(self.random.choice((1, 5, 30)), kinds, distinct=distinct)
        self.taken.append(f"{side} write {len(rows)}")
        try:
            self.sharing.sides[side].write(self.layout, self.name, rows)
        except Refused as error:
            self.sharing.did(side, "write", error)
            return
        self.sharing.did(side, "write")
        self.told.rows += rows

    def compact(self, full: bool | None = None) -> None:
        side = self.random.choice(("keyfold", "java"))
        full = self.random.random() < 0.5 if full is None else full
        self.taken.append(f"{side} compact {'full' if full else 'some'}")
        self.told.is_merged = True
        try:
            self.sharing.sides[side].compact(self.name, full=full)
        except Refused as error:
            self.sharing.did(side, "compact", error)
            return
        self.sharing.did(side, "compact")

    def alter(self) -> None:
        change = self.told.change()
        if change is None:
            return
        side = self.random.choice(self.makers)
        self.taken.append(f"{side} {change}")
        self._alter(side, change)

    def _alter(self, side: str, change: Change) -> None:
        try:
            self.sharing.sides[side].alter(self.name, change)
        except Refused as error:
            self.sharing.did(side, change.do, error)
            return
        self.sharing.did(side, change.do)
        self.told.altered(change, [column.name for column in self.layout.columns])

    def check(self) -> None:
        """All sides read the same rows, and where rows alone decide, the right ones."""
        layout, free = self.layout, self.told.free
        self.taken.append("check")
        table = self.keyfold.table(self.name)
        rows = self.keyfold.read(layout, self.name)
        found = in_order(rows, free)
        for name, side in self.sharing.sides.items():
            # pypaimon hides what is not compacted of first-row tables
            is_hidden = name == "pypaimon" and self.told.engine == FIRST_ROW
            if is_hidden and any(file.level == 0 for file in table.live_files()):
                continue
            try:
                _same(name, in_order(side.read(layout, self.name), free), found)
            except Refused as error:
                self.sharing.did(name, "read", error)
                continue
            self.sharing.did(name, "read")
        if self.told.may_be_told:
            _same("the definition", in_order(self.told.folded(layout), free), found)
        for _ in range(FILTERS):
            self.check_filter(layout, rows)

    def check_filter(self, layout: TableLayout, rows: pa.Table) -> None:
        """A filter, whoever wrote the statistics of the files, leaves in all rows that pass it."""
        names = [column.name for column in layout.columns if logical.is_atomic(column.type)]
        name, op = self.random.choice(names), self.random.choice(list(COMPARISONS))
        cells = [cell for cell in rows[name] if cell.is_valid]
        if not cells or "CHAR(" in str(self.told.columns[name]):
            return
        cell = self.random.choice(cells)
        passing = rows.filter(COMPARISONS[op](rows[name], cell))
        literal = {
            "literal": literal_of(cell),
            "type": spark_types.to_spark(layout.column(name).type),
        }
        filters = [{"op": op, "args": [{"column": [name]}, literal]}]
        self.taken.append(f"{name} {op} {cell}")
        found = in_order(
            self.keyfold.filtered(self.keyfold.table(self.name), filters), self.told.free
        )
        missing = Counter(in_order(passing, self.told.free)) - Counter(found)
        assert not missing, f"a filter leaves out {missing}"


def literal_of(cell: pa.Scalar) -> Any:
    """A value as predicates of the JVM hold it."""
    if pa.types.is_date32(cell.type) or pa.types.is_timestamp(cell.type):
        return cell.value
    found = cell.as_py()
    if isinstance(found, bytes):
        return base64.b64encode(found).decode()
    return str(found) if isinstance(found, Decimal) else found


def _same(name: str, theirs: Sequence[str], ours: Sequence[str]) -> None:
    more, less = set(theirs) - set(ours), set(ours) - set(theirs)
    assert theirs == ours, (
        f"{name} and keyfold differ\nonly {name}: {sorted(more)[:3]}\nonly keyfold: "
        f"{sorted(less)[:3]}"
    )


def main() -> None:
    """Run many histories; all failures are printed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, library.start() as paimon:
        sharing = Sharing(Keyfold(Path(folder)), paimon)
        for seed in range(asked.first, asked.first + asked.seeds):
            for engine in ENGINES:
                try:
                    sharing.run(str(seed), engine)
                except Exception as error:
                    failed += 1
                    print(f"{type(error).__name__}: {error}", *error.__notes__, sep="\n")
        for what, number in sorted(sharing.done.items()):
            print(f"{number:6d} {what}")
    print(f"{asked.seeds * len(ENGINES)} histories, {failed} failed")


if __name__ == "__main__":
    main()
