"""What each of those that share tables does with each feature of Paimon's primary-key tables: it
reads, writes, compacts. Each does it here, and the table in docs/interop.md says what came of it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import keyfold
from integration import TOP
from integration.paimon.library import Paimon, RefusedByPaimon
from integration.paimon.sides import (  # fmt: skip
    NAMESPACE,
    Java,
    Keyfold,
    Pypaimon,
    Refused,
    Rust,
    Shape,
    Side,
    refusals,
)
from keyfold.errors import KeyfoldError
from keyfold.testing.tables import Record
from tests import readers

COLUMNS = {"p": "INT", "k": "INT", "at": "INT", "v": "INT"}
SYSTEMS = ("keyfold", "Java 1.4.2", "pypaimon 2.1.0", "pypaimon-rust 0.4.0")
HEAD = f"| feature | {' | '.join(SYSTEMS)} |"
Stored = Mapping[int, tuple[Any, ...]]  # partition and values by key
Fold = Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]


def newest(stored: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    return given


def oldest(stored: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    return stored


def latest(stored: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    return given if given[1] >= stored[1] else stored


def added(stored: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*given[:2], stored[2] + given[2])


def filled(stored: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(old if new is None else new for old, new in zip(stored, given, strict=True))


@dataclass(frozen=True)
class Feature:
    """A table that has it. Rows of some are seen once they are compacted: it `settles` them."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    fold: Fold = newest
    key: tuple[str, ...] = ("p", "k")
    settles: bool = False


def vectors(bits: int) -> dict[str, str]:
    found = {"bucket": "2", "deletion-vectors.enabled": "true"}
    return found | ({"deletion-vectors.bitmap64": "true"} if bits == 64 else {})


DYNAMIC = {"bucket": "-1", "dynamic-bucket.target-row-num": "100"}
SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
GROUP = {"merge-engine": "partial-update", "fields.at.sequence-group": "v"}
INDEX = "file-index.{}.columns"
MANY = 300  # keys of the first job
FEATURES = (
    Feature("`bucket` of 1 or more", {"bucket": "2"}),
    Feature("`bucket` = -1: dynamic buckets", DYNAMIC),
    Feature("`bucket` = -1: keys across partitions", DYNAMIC, key=("k",)),
    Feature("`bucket` = -2: postponed buckets", {"bucket": "-2"}, settles=True),
    Feature("deletion vectors of 32 bits", vectors(32), settles=True),
    Feature("deletion vectors of 64 bits", vectors(64), settles=True),
    Feature("`merge-engine` = `partial-update`", {"merge-engine": "partial-update"}, filled),
    Feature("`fields.<column>.sequence-group`", GROUP, latest),
    Feature("`merge-engine` = `aggregation`", SUMS, added),
    Feature("`merge-engine` = `first-row`", {"merge-engine": "first-row"}, oldest, settles=True),
    Feature("`sequence.field`", {"sequence.field": "at"}, latest),
    Feature("`changelog-producer` = `input`", {"changelog-producer": "input"}),
    Feature("`changelog-producer` = `lookup`", {"changelog-producer": "lookup"}),
    Feature("`changelog-producer` = `full-compaction`", {"changelog-producer": "full-compaction"}),
    Feature("`file.format` = `orc`", {"file.format": "orc"}),
    Feature("`file.format` = `avro`", {"file.format": "avro"}),
    Feature("Bloom filters", {INDEX.format("bloom-filter"): "k"}),
    Feature("bitmap indexes", {INDEX.format("bitmap"): "v"}),
    Feature("bit-sliced indexes", {INDEX.format("bsi"): "v"}),
    Feature("`data-file.thin-mode`", {"data-file.thin-mode": "true"}),
    Feature("`index-file-in-data-file-dir`", DYNAMIC | {"index-file-in-data-file-dir": "true"}),
    Feature("`data-file.path-directory`", {"data-file.path-directory": "data"}),
)


class Ours(Keyfold):
    """keyfold, whose compactions are those that a program of Python calls."""

    def compact(self, name: str, *, full: bool) -> None:
        table = keyfold.connect(str(self.warehouse), threads=1).table(f"{NAMESPACE}.{name}")
        with refusals(KeyfoldError):
            table.compact(strategy="full" if full else "minor")


class Shared:
    """A table with a feature, which Java made, and the rows that it must show."""

    def __init__(self, paimon: Paimon, folder: Path, feature: Feature, seed: int) -> None:
        self.feature, self.draw = feature, random.Random(seed)
        self.keyfold, self.java = Ours(folder), Java(folder, paimon)
        sides: tuple[Side, ...] = (self.keyfold, self.java, Pypaimon(folder), Rust(folder))
        self.sides = dict(zip(SYSTEMS, sides, strict=True))
        self.names = map("t{}".format, itertools.count())
        self.begin()

    def begin(self) -> None:
        """Another table, with rows of many keys, so that it has marks where those are set."""
        self.name, self.wanted = next(self.names), dict[int, tuple[Any, ...]]()
        options = {"bucket": "2"} | dict(self.feature.options)
        self.java.create(Shape(self.name, COLUMNS, self.feature.key, ("p",), options))
        self.write(self.java, range(MANY))
        self.write(self.java)

    def rows(self, keys: Sequence[int]) -> list[Record]:
        """A row of each key."""
        found = []
        for k in keys:
            p = self.draw.randrange(2) if self.feature.key == ("k",) else k % 2
            v = None if self.feature.fold is filled and self.draw.random() < 0.3 else k * 7
            found.append((0, {"p": p, "k": k, "at": self.draw.randrange(1000), "v": v}))
        return found

    def write(self, side: Side, keys: Sequence[int] | None = None, *, settles: bool = True) -> None:
        """A job, of some keys or those given, whose rows are seen then if it settles them."""
        rows = self.rows(self.draw.sample(range(MANY + 20), 12) if keys is None else keys)
        layout = self.keyfold.table(self.name).layout
        with refusals(KeyfoldError):
            side.write(layout, self.name, rows)
        for _, row in rows:
            given, before = (row["p"], row["at"], row["v"]), self.wanted.get(row["k"])
            self.wanted[row["k"]] = given if before is None else self.feature.fold(before, given)
        if self.feature.settles and settles:
            self.java.compact(self.name, full=False)

    def shown(self, side: Side) -> None:
        """A system reads these rows and no others."""
        with refusals(KeyfoldError):
            found = side.read(self.keyfold.table(self.name).layout, self.name).to_pylist()
        rows = {row["k"]: (row["p"], row["at"], row["v"]) for row in found}
        assert rows == self.wanted, side
        assert len(found) == len(rows), side

    def found(self) -> dict[str, str]:
        """What each system does, in words. All rows that come of it are right."""
        does: dict[str, list[str]] = {name: [] for name in SYSTEMS}
        for name, side in self.sides.items():
            does[name] += tried("writes", partial(self.write, side))
        self.check()
        for name in ("keyfold", "Java 1.4.2"):
            does[name] += tried("compacts", partial(self.compact, self.sides[name]))
            self.check()
        self.write(self.java)
        for name, side in self.sides.items():  # rows that everybody wrote
            does[name] = [*tried("reads", partial(self.shown, side)), *does[name]]
        return {name: ", ".join(what) or "no" for name, what in does.items()}

    def compact(self, side: Side) -> None:
        """A compaction that has something to do: Java may have compacted as it wrote."""
        for _ in range(3):
            self.write(self.java, settles=False)
            before = self.keyfold.table(self.name).snapshot_id
            side.compact(self.name, full=True)
            if self.keyfold.table(self.name).snapshot_id != before:
                return
        raise AssertionError(f"{side} compacted nothing")

    def check(self) -> None:
        """Java and keyfold, if that reads the table at all, read it rightly."""
        self.shown(self.java)
        with suppress(Refused):
            self.shown(self.keyfold)


def tried(what: str, do: Callable[[], None]) -> Iterator[str]:
    """The word, unless it is refused."""
    with suppress(Refused, RefusedByPaimon):
        do()
        yield what


def told() -> dict[str, Sequence[str]]:
    """The cells of the page's table, by feature."""
    lines = (TOP / "docs" / "interop.md").read_text(encoding="utf-8").splitlines()
    begin = lines.index(HEAD) + 2
    rows = (line for line in lines[begin : lines.index("", begin)])
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in rows)
    return {name: tuple(does) for name, *does in cells}


def told_rows() -> set[str]:
    return {*told()} - {TAGS, BRANCHES}


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_each_does_what_the_page_says(
    paimon: Paimon, tmp_path: Path, seed: int, feature: Feature
) -> None:
    found = Shared(paimon, tmp_path, feature, seed).found()
    assert tuple(found.values()) == told().get(feature.name), f"| {feature.name} | " + " | ".join(
        found.values()
    )


TAGS, BRANCHES = "tags", "branches"


def test_the_page_has_each_feature() -> None:
    assert told_rows() == {feature.name for feature in FEATURES}


def test_tags_and_branches(paimon: Paimon, tmp_path: Path, seed: int) -> None:
    """Those that Java made; a branch is a table of its own."""
    shared = Shared(paimon, tmp_path, FEATURES[0], seed)
    folder = shared.java.folder(shared.name)
    snapshot = shared.keyfold.table(shared.name).snapshot_id
    assert snapshot is not None
    paimon.history(folder, "create_tag", "x", snapshot)
    paimon.history(folder, "create_branch", "b", "x")
    tagged = dict(shared.wanted)
    shared.write(shared.java)
    name, option = f"{NAMESPACE}.{shared.name}", {"scan.tag-name": "x"}
    where = {"catalog": readers.options(tmp_path), "table": name, "options": option}
    ways: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "keyfold": lambda: keyfold.connect(str(tmp_path)).table(name).scan(tag="x").to_pylist(),
        "Java 1.4.2": lambda: [
            dict(zip(COLUMNS, row, strict=True))
            for row in paimon.read(folder, scan__tag_name="x").rows
        ],
        "pypaimon 2.1.0": lambda: readers.ask("read", **where).to_pylist(),
        "pypaimon-rust 0.4.0": lambda: readers.ask("read_by_rust", **where).to_pylist(),
    }

    def at_tag(way: Callable[[], list[dict[str, Any]]]) -> None:
        with refusals(readers.Refused):
            rows = {row["k"]: (row["p"], row["at"], row["v"]) for row in way()}
        assert rows == tagged

    found = [", ".join(tried("reads", partial(at_tag, ways[one]))) or "no" for one in SYSTEMS]
    assert tuple(found) == told().get(TAGS), f"| {TAGS} | " + " | ".join(found)
    shared.name, shared.wanted = f"{shared.name}$branch_b", tagged
    found = list(shared.found().values())
    assert tuple(found) == told().get(BRANCHES), f"| {BRANCHES} | " + " | ".join(found)
