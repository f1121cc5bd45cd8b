"""Random histories with tags, branches, expiry, rollback and orphan removal, against a dictionary
of what each snapshot, tag and branch must show: no file of one is removed, and in the end no other
stays.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import NotSupportedError
from keyfold.storage.branching import branches
from keyfold.storage.branching.rollback import rollback
from keyfold.storage.history import tags, versions
from keyfold.storage.maintenance import tagging
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.storage.table import Table
from keyfold.wire.specs import Epoch
from tests.draws import draws
from tests.storage import tables
from tests.storage.snapshots import append, data_files, expired, ids, make, overwrite

Files = frozenset[str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["append"] * 4
            + ["overwrite", "overwrite", "tag", "tag", "replace", "rename", "untag", "branch"]
            + ["unbranch", "expire", "expire", "rollback", "rollback", "forward", "orphans"]
        ),
        st.integers(0, 20),
        st.integers(0, 20),
    ),
    min_size=6,
    max_size=30,
)


@dataclass
class Line:
    """What the table or a branch must show: the files of each snapshot, and of each tag."""

    snapshots: dict[int, Files] = field(default_factory=dict)
    tags: dict[str, tuple[int, Files]] = field(default_factory=dict)

    @property
    def newest(self) -> int:
        return max(self.snapshots)

    def copy(self) -> Line:
        return Line(dict(self.snapshots), dict(self.tags))


class Model:
    """The table and its model; each step is done to both."""

    def __init__(self, main: Table) -> None:
        self.main = main
        self.lines = {"": Line()}
        self.made = 0

    def table(self, line: str) -> Table:
        return branches.open_branch(self.main, line) if line else tables.reload(self.main)

    def name(self) -> str:
        self.made += 1
        return f"n{self.made}"

    def committed(self, line: str) -> None:
        found = self.table(line)
        assert found.snapshot_id is not None
        self.lines[line].snapshots[found.snapshot_id] = live(found)

    def step(self, what: str, a: int, b: int) -> None:
        line = sorted(self.lines)[a % len(self.lines)]
        getattr(self, what)(line, self.lines[line], self.table(line), b)

    def append(self, line: str, model: Line, found: Table, b: int) -> None:
        append(found, tables.message(found, bucket=b % 2, files=1 + b % 3))
        self.committed(line)

    def overwrite(self, line: str, model: Line, found: Table, b: int) -> None:
        overwrite(found, tables.message(found, bucket=b % 2))
        self.committed(line)

    def tag(self, line: str, model: Line, found: Table, b: int) -> None:
        name, number = self.name(), sorted(model.snapshots)[b % len(model.snapshots)]
        tagging.create(found, name, number)
        model.tags[name] = number, model.snapshots[number]

    def replace(self, line: str, model: Line, found: Table, b: int) -> None:
        if model.tags:
            name = sorted(model.tags)[b % len(model.tags)]
            tagging.replace(found, name)
            model.tags[name] = model.newest, model.snapshots[model.newest]

    def rename(self, line: str, model: Line, found: Table, b: int) -> None:
        if model.tags:
            old, new = sorted(model.tags)[b % len(model.tags)], self.name()
            tagging.rename(found, old, new)
            model.tags[new] = model.tags.pop(old)

    def untag(self, line: str, model: Line, found: Table, b: int) -> None:
        if model.tags:
            name = sorted(model.tags)[b % len(model.tags)]
            assert tagging.delete(found, name)
            del model.tags[name]

    def branch(self, line: str, model: Line, found: Table, b: int) -> None:
        main = self.lines[""]
        if main.tags and len(self.lines) < 4:
            tag, name = sorted(main.tags)[b % len(main.tags)], self.name()
            branches.create(self.main, name, tag)
            number, files = main.tags[tag]
            self.lines[name] = Line({number: files}, {tag: (number, files)})

    def unbranch(self, line: str, model: Line, found: Table, b: int) -> None:
        if line:
            branches.delete(self.main, line)
            del self.lines[line]

    def expire(self, line: str, model: Line, found: Table, b: int) -> None:
        kept = 1 + b % 3
        expired(found, at_least=kept)
        for number in sorted(model.snapshots)[:-kept]:
            del model.snapshots[number]

    def rollback(self, line: str, model: Line, found: Table, b: int) -> None:
        targets = {str(n): (n, files) for n, files in model.snapshots.items()} | model.tags
        text = sorted(targets)[b % len(targets)]
        number, files = targets[text]
        epoch = None if line or b % 2 else Epoch(self.name(), 0)  # a token, of a program
        drop(model, number)
        kept = [number] if epoch is None else [number, number + 1]
        assert rollback(found, *versions.resolve(found, text), epoch) == kept[-1]
        model.snapshots |= dict.fromkeys(kept, files)

    def forward(self, line: str, model: Line, found: Table, b: int) -> None:
        if not line:
            return
        main = self.lines[""]
        before, epoch = ids(self.main), None if b % 2 else Epoch(self.name(), 0)
        try:
            newest = branches.fast_forward(self.main, line, epoch)
        except NotSupportedError:
            assert ids(self.main) == before
            return
        fork = max(n for n, files in model.snapshots.items() if files in self._of(main, n))
        drop(main, fork)
        main.snapshots |= {n: files for n, files in model.snapshots.items() if n >= fork}
        main.tags = model.tags | main.tags
        if epoch is not None and fork == model.newest:
            main.snapshots[fork + 1] = main.snapshots[fork]
        assert newest == main.newest

    def _of(self, main: Line, number: int) -> list[Files]:
        tagged = [files for at, files in main.tags.values() if at == number]
        return [*tagged, *([main.snapshots[number]] if number in main.snapshots else [])]

    def orphans(self, line: str, model: Line, found: Table, b: int) -> None:
        remove_orphans(found, time.time(), dry_run=False)

    def check(self) -> None:
        """Everything shows what it must, and its files are there."""
        there = data_files(self.main)
        assert set(branches.names(self.main)) == set(self.lines) - {""}
        for name, model in self.lines.items():
            found = self.table(name)
            assert ids(found) == sorted(model.snapshots)
            assert {n: live(found, n) for n in model.snapshots} == model.snapshots
            assert tags.names(found) == sorted(model.tags)
            for tag, (number, files) in model.tags.items():
                past = versions.at_version(found, tag)
                assert (past.snapshot_id, live(past)) == (number, files)
            assert self.held(model) <= there

    def held(self, model: Line) -> set[str]:
        files = [*model.snapshots.values(), *(files for _, files in model.tags.values())]
        return {name for of_one in files for name in of_one}


def drop(model: Line, above: int) -> None:
    model.snapshots = {n: files for n, files in model.snapshots.items() if n <= above}
    model.tags = {name: (n, files) for name, (n, files) in model.tags.items() if n <= above}


def live(found: Table, number: int | None = None) -> Files:
    return frozenset(file.name for file in found.live_files(number))


@given(steps=STEPS)
@draws(15)
def test_random_histories(tmp_path_factory: pytest.TempPathFactory, steps: Any) -> None:
    model = Model(make(tmp_path_factory.mktemp("h"), manifest__merge_min_count="3"))
    model.append("", model.lines[""], model.main, 0)
    for step in steps:
        model.step(*step)
        model.check()
    time.sleep(0.01)  # files count as orphans from the next tick of the clock on
    remove_orphans(model.table(""), time.time(), dry_run=False)
    model.check()
    assert data_files(model.main) == set().union(*map(model.held, model.lines.values()))
