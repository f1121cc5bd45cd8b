"""Retractions by turns of keyfold and Paimon's Java library: after each job and each compaction,
both read what the definition of the engine makes of all records, or Java refuses the files by name.
Longer by hand: KEYFOLD_TURNS=100.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keyfold
from integration.paimon.library import Paimon
from integration.paimon.sides import NAMESPACE, Java, Keyfold, Refused, Shape, Side
from keyfold.kernels.ops import DELETE, INSERT, KIND_NAMES, RETRACTIONS, UPDATE_BEFORE
from keyfold.storage.table import Table
from keyfold.testing.tables import Record
from keyfold.wire.specs import MARKED_SUFFIX
from tests.merge.test_any_compaction import AGGREGATION, COLUMNS, RUNS, TABLES, random_history
from tests.merge.test_any_compaction import History as Jobs

HISTORIES = int(os.environ.get("KEYFOLD_TURNS", "0"))  # of each case; 0 is one of the first few
FEW = 7
OTHERS = range(1000, 3000)  # keys that make the oldest file large, so that newer ones merge alone
NUMBERS = ("n", "v", "w")
EVERY_SUM = AGGREGATION | {f"fields.{name}.aggregate-function": "sum" for name in (*NUMBERS, "g")}
# A full compaction only where one is asked for.
LAYERED = {
    "bucket": "1",
    "write-only": "true",
    "num-levels": "6",
    "num-sorted-run.compaction-trigger": "2",
    "compaction.max-size-amplification-percent": "1000",
}


@dataclass(frozen=True)
class Case:
    """A table; `java` says whether Java compacts it too, fully or as it picks. `are_blank` are
    deletes with nothing but the key. The columns `unlike` are others in Java.
    """

    options: dict[str, str]
    java: tuple[bool, ...] = ()
    retracts: tuple[int, ...] = RETRACTIONS
    are_blank: bool = False
    unlike: tuple[str, ...] = ()


# In Java a retraction leaves no value of a sequence field.
BY_SEQUENCE = {name: ("g",) for name, options in TABLES.items() if "sequence.field" in options}
CASES = {
    "sums, both compact": Case(EVERY_SUM, (True, False)),
    "sums of a group, Java compacts all": Case(TABLES["group, sum"], (True,)),
    "removing, Java compacts all": Case(TABLES["removing"], (True,), (DELETE,), are_blank=True),
    **{name: Case(TABLES[name]) for name in ("sum", "removing", "product", "group, sum")},
    **{name: Case(one, unlike=BY_SEQUENCE.get(name, ())) for name, one in TABLES.items()},
}


class Turns:
    """One table of both."""

    def __init__(self, folder: Path, paimon: Paimon, case: Case, draw: Random) -> None:
        self.case, self.draw, self.name = case, draw, "t"
        self.ours, self.java = Keyfold(folder), Java(folder, paimon)
        shape = Shape(self.name, COLUMNS, ("k",), (), case.options | LAYERED)
        self.any(self.java, self.ours).create(shape)
        self.opened = keyfold.connect(folder).table(f"{NAMESPACE}.{self.name}")
        self.layout = self.table.layout

    @property
    def table(self) -> Table:
        return self.ours.table(self.name)

    @property
    def is_marked(self) -> bool:
        return any(file.name.endswith(MARKED_SUFFIX) for file in self.table.live_files())

    def any(self, *sides: Side) -> Side:
        return self.draw.choice(sides)

    def write(self, side: Side, records: Sequence[Record]) -> None:
        if side is self.java:
            side.write(self.layout, self.name, records)
        else:
            rows = [{**row, "op": KIND_NAMES[kind]} for kind, row in records]
            self.opened.upsert(rows, row_kind="op")

    def compact(self) -> None:
        """A compaction by one of them. Java refuses files with marks, and nothing else."""
        side = self.any(self.java, self.ours) if self.case.java else self.ours
        full = (True, False) if side is self.ours else self.case.java
        self.asked(side, partial(side.compact, self.name, full=self.draw.choice(full)))

    def check(self, expected: Sequence[Record]) -> None:
        """Both read these rows."""
        for side, unlike in ((self.ours, ()), (self.java, self.case.unlike)):
            found = self.asked(side, partial(side.read, self.layout, self.name))
            if found is not None:
                rows = [row for row in found.to_pylist() if row["k"] < OTHERS[0]]
                seen = [row | dict.fromkeys(unlike) for row in sorted(rows, key=itemgetter("k"))]
                wanted = [row | dict.fromkeys(unlike) for _, row in expected]
                assert seen == wanted, type(side).__name__

    def asked(self, side: Side, ask: Callable[[], Any]) -> Any:
        """The answer; None if it is Java and there are files with marks, which it refuses."""
        if side is not self.java or not self.is_marked:
            return ask()
        with pytest.raises(Refused, match="keyfold"):
            ask()
        return None

    def history(self) -> Jobs:
        """Each job has a key once: of more, Java's writer makes what its engines make of files."""
        found = random_history(self.draw, self.layout, retracts=self.case.retracts, most=1)
        if not self.case.are_blank:
            return found
        blank = dict.fromkeys(NUMBERS)
        jobs = [[(k, r | blank if k == DELETE else r) for k, r in job] for job in found.jobs]
        return Jobs(self.layout, tuple(map(tuple, jobs)))


@pytest.mark.parametrize("name", CASES if HISTORIES else [*CASES][:FEW])
def test_compactions_change_no_row_of_either(
    paimon: Paimon, tmp_path: Path, seed: int, name: str
) -> None:
    for number in range(HISTORIES or 1):
        folder, draw = tmp_path / str(number), Random(f"{seed} {number} {name}")
        folder.mkdir()
        turns = Turns(folder, paimon, CASES[name], draw)
        others = {name: draw.getrandbits(40) for name in NUMBERS} | {"g": 0}
        wide = [(INSERT, {"k": key, **others, "n": draw.getrandbits(40)}) for key in OTHERS]
        turns.write(turns.ours, wide)
        turns.ours.compact(turns.name, full=True)
        jobs = turns.history().jobs
        for done in range(1, RUNS + 1):
            turns.write(turns.any(turns.java, turns.ours), jobs[done - 1])
            expected = Jobs(turns.layout, jobs[:done]).expected
            turns.check(expected)
            if draw.random() < 0.7:
                turns.compact()
                turns.check(expected)


def test_a_retraction_has_a_sequence(paimon: Paimon, tmp_path: Path) -> None:
    """In Java it has none once it is taken back: the row has lost its place in the order."""
    draw, case = Random(0), Case(TABLES["removing, by sequence"])
    turns = Turns(tmp_path, paimon, case, draw)
    rows = {"k": 1, "n": 5, "v": 1, "w": 1}
    turns.write(turns.ours, [(INSERT, rows | {"g": 1})])
    turns.write(turns.java, [(UPDATE_BEFORE, rows | {"g": 2, "n": 2})])
    found = [side.read(turns.layout, "t").to_pylist() for side in (turns.ours, turns.java)]
    assert [[(row["n"], row["g"]) for row in some] for some in found] == [[(3, 2)], [(3, None)]]
