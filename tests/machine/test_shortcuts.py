"""Shortcuts by metadata equal the statement: random statements of all kinds on every engine, with a
base that is larger than what changes it, and after each of them all answers that files, levels,
partitions or statistics shorten, beside the rows (`answers` has them and their reasons).

What is written goes by files too. It shows in the rows, which are compared with dictionaries:

- A compaction leaves files alone. A pick is newer than all that stays and touches its keys, so what
  it makes folds on them as before; first-row leaves out the keys of rows that stay, not of deletes.
- A file that overlaps nothing moves up a level as it is, unless deletes or marks may end there.
- Deletes and marks end where no older file touches the keys; under `sequence.field` deletes stay.
- A file alone in its section is read as it is: its keys have no other record. Its deletes count.
- DELETE takes the files of partitions if no later row is compared with those it removes, else rows.
  DROP PARTITION and overwrites take files and are meant to: what was deleted there is forgotten.
- Expiry removes the files that no kept snapshot and no tag names; all that are kept are read.

KEYFOLD_MACHINE_SECONDS goes on for so long, over many seeds; a failure names its own.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest

from tests.machine import answers
from tests.machine.model import ENGINES, SEQUENCES, Line, Row
from tests.machine.partitioned import PARTS, Partitioned, part_of
from tests.machine.steps import KEYS, Machine

STEPS = 12
OFTEN: float = 0.3  # how often all answers are asked for after a statement
OPTIONS = {
    "bucket": ("1", "1", "2", "3"),
    "primary-key.nullable": ("true", "false"),
    "write-only": ("true", "false"),
    "num-sorted-run.compaction-trigger": ("2", "2", "3", "5"),
    "target-file-size": ("2 kb", "128 mb"),
    "source.split.target-size": ("1 kb", "128 mb"),
    "source.split.open-file-cost": ("1 b", "4 mb"),
    "changelog-producer": ("none", "none", "input", "lookup", "full-compaction"),
}
# The kinds that rows may bring, where they do to rows what statements do.
KINDS = dict.fromkeys(("deduplicate", "sequence", "descending"), ("+I", "+U", "-U", "-D"))
KINDS |= {"aggregation": ("+I", "-D")}
# The other machine has them: here they would leave fewer statements to each file.
ELSEWHERE = ("add", "rename", "drop", "widen", "branch", "unbranch", "forward", "untag")
FORGETS = ("expire", "rollback")


class Shortened(Machine):
    """A machine that also removes whole partitions, and asks for answers."""

    def __init__(
        self, driver: Partitioned, engine: str, options: Mapping[str, str], draw: Random
    ) -> None:
        self.keeps_history = draw.random() < 0.5
        without = (*ELSEWHERE, *FORGETS) if self.keeps_history else ELSEWHERE
        self.producer, self.often = options["changelog-producer"], OFTEN
        super().__init__(driver, engine, draw, without)
        self.driver: Partitioned = driver
        self.step(self.join_base)
        self.began = self.lines[""].newest, self.driver.whole("")
        if self.fold.takes_deletes:
            self.step(self.take_away)

    def run(self, steps: int) -> None:
        """And in the end the changes of them all."""
        is_taken_back = self.fold.engine == "aggregation"
        super().run(steps - 2 * is_taken_back)
        if is_taken_back:
            self.step(self.join_base)
            self.step(self.take_back)
        told = {"input": answers.replayed if self.fold.engine == "deduplicate" else None}
        check = told.get(self.producer, answers.changed)
        if self.keeps_history and check is not None:
            self.driver.compact("", "full")  # producers have told all by then
            number, rows = self.began
            check(self.driver.table(""), number, rows, self.driver.whole(""))

    def weights(self) -> dict[Callable[[str, Line], None], int]:
        found = super().weights() | {self.drop_partition: 1, self.compact: 6, self.rescale: 1}
        found |= {self.feed: 6} if self.driver.has_kinds else {}
        found |= {self.late: 3} if self.fold.engine in SEQUENCES else {}
        return found | ({self.clear: 3, self.take_away: 6} if self.fold.takes_deletes else {})

    def feed(self, name: str, line: Line) -> None:
        """Rows of all kinds."""
        names = [one.name for one in line.now.columns]
        kinds = KINDS[self.fold.engine]
        keys = self.draw.choices(KEYS, k=4)
        rows = [(self.draw.choice(kinds), self.row(key, names)) for key in keys]
        self.told(rows)
        self.driver.feed(name, line.now, rows)
        line.now = self.fold.feed(line.now, rows)

    def late(self, name: str, line: Line) -> None:
        """Rows that are earlier in the sequence than any that are there: those of the base stay."""
        names = [one.name for one in line.now.columns]
        earliest = 100 if self.fold.engine == "descending" else -100
        of_base = [row["k"] for row in self.driver.whole(name) if row["k"] in self.driver.base]
        rows: list[Row] = [
            self.row(key, names) | {"s": earliest}
            for key in (
                *self.draw.sample(KEYS, 2),
                *self.draw.sample(of_base, min(2, len(of_base))),
            )
        ]
        self.told(rows)
        self.driver.insert(name, line.now, rows, names)
        own = [row for row in rows if row["k"] in KEYS]
        line.now = self.fold.insert(line.now, own, names)

    def rescale(self, name: str, line: Line) -> None:
        """Another number of buckets, or the same."""
        buckets = self.draw.randrange(1, 4)
        self.told(buckets)
        self.driver.rescale(name, buckets)

    def take_away(self, name: str, line: Line) -> None:
        """Deletes of rows that lie in the base, then rows beside them, then a compaction that
        leaves the base alone: it must leave the deletes.
        """
        self.often = 1
        self.step(self.feed if self.driver.has_kinds else self.delete)
        self.step(self.insert)
        self.often = OFTEN
        self.step(self.compact_some)

    def take_back(self, name: str, line: Line) -> None:
        """Rows and deletes without marks beside files without marks: they fold without a merge
        where no file holds a delete. It comes last: a sum begins with what a delete brings.
        """
        self.often = 1
        names, shown = [one.name for one in line.now.columns], sorted(line.now.shown())
        taken = self.draw.sample(shown, min(3, len(shown)))
        rows: list[tuple[str, Row]] = [("-D", {"k": key} | dict.fromkeys(names)) for key in taken]
        rows += [("+I", self.row(key, names)) for key in KEYS if key not in taken]
        self.told(rows)
        self.driver.feed_whole(name, line.now, rows)
        line.now = self.fold.feed(line.now, rows)

    def compact_some(self, name: str, line: Line) -> None:
        self.driver.compact(name, "minor")

    def compact(self, name: str, line: Line) -> None:
        """Mostly of some runs: a full one leaves no files alone."""
        strategy = self.draw.choice(["full", "minor", "minor", "minor"])
        self.told(strategy)
        self.driver.compact(name, strategy)

    def join_base(self, name: str, line: Line) -> None:
        """The first rows go to the files of the base."""
        self.driver.compact(name, "full")

    def clear(self, name: str, line: Line) -> None:
        """A DELETE of a whole partition."""
        part = self.draw.randrange(PARTS)
        self.told(part)
        self.driver.clear(name, part)
        left = {key: row for key, row in line.now.shown().items() if part_of(key) != part}
        line.now = self.fold.becomes(line.now, left)

    def drop_partition(self, name: str, line: Line) -> None:
        """It forgets what was deleted too."""
        part = self.draw.randrange(PARTS)
        self.told(part)
        self.driver.drop(name, part)
        left = {key: row for key, row in line.now.shown().items() if part_of(key) != part}
        gone = {key: one for key, one in line.now.gone.items() if part_of(key) != part}
        line.now = line.now.having(left, gone)

    def check(self, name: str, line: Line) -> None:
        super().check(name, line)
        if self.draw.random() > self.often:
            return
        try:
            answers.check(self.driver.table(name), self.driver.whole(name), self.draw)
        except AssertionError as error:
            error.add_note(f"{name!r}: {self.log}")
            raise


def options_of(engine: str, draw: Random) -> dict[str, str]:
    found = {name: draw.choice(values) for name, values in OPTIONS.items()}
    if engine == "first-row" and found["changelog-producer"] != "none":
        found["changelog-producer"] = "lookup"
    if engine == "aggregation":
        found["aggregation.remove-record-on-delete"] = "true"
    if engine == "aggregation" or (engine in KINDS and draw.random() < 0.5):
        found["rowkind.field"] = "op"
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_are_those_of_the_rows(tmp_path: Path, engine: str, seed: int) -> None:
    end = time.monotonic() + float(os.environ.get("KEYFOLD_MACHINE_SECONDS", "0"))
    number = 0
    while number == 0 or time.monotonic() < end:
        told = f"shortcuts {engine} {seed} {number}"
        draw = Random(told)
        options = options_of(engine, draw)
        folder = tmp_path / str(number)
        driver = Partitioned(str(folder), engine, options, draw)
        try:
            machine = Shortened(driver, engine, options, draw)
            machine.run(STEPS)
        except Exception as error:
            error.add_note(f"seed {told}, {options}")
            raise
        shutil.rmtree(folder)
        number += 1
