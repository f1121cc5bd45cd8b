"""Changes that compactions tell: random histories of every engine, folded after each commit."""

import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

import keyfold
from keyfold.errors import TableError
from keyfold.wire.layout import TableLayout
from tests.changelog.changelog_files import Rows, changes_of, changes_since, check_rows, folded
from tests.compact import harness as compaction
from tests.compact.histories import History, rows, stored
from tests.compact.test_histories import depends_on_what_is_merged, is_refused
from tests.concurrency import jobs
from tests.draws import times
from tests.merge.random_tables import ENGINES, random_table
from tests.storage import tables

ROUNDS = 2
SMALL = {
    "num_levels": "6",
    "compaction__max_size_amplification_percent": "1000",
    "target_file_size": "1 kb",
}


def some_table(random: Random, engine: str) -> TableLayout:
    """A table whose rows do not depend on which of its files were merged."""
    while True:
        layout = random_table(random, engine)
        if not is_refused(layout) and not depends_on_what_is_merged(layout):
            return layout


class Told:
    """A history whose changes are folded as they are told."""

    def __init__(self, random: Random, history: History) -> None:
        self.history, self.random = history, random
        self.rows: Rows = {}
        self.seen = 0

    def follow(self, strategy: str, **more: Any) -> None:
        """Compact, and fold the changes told since."""
        table = self.history.table
        done = compaction.compact(table, strategy, **more)
        assert {one["outcome"] for one in done} <= {"committed"}
        self.rows = folded(table, self.rows, changes_since(table, self.seen))
        self.seen = tables.reload(table).snapshot_id or 0

    def check(self) -> None:
        check_rows(self.history.table, self.rows, rows(self.history.table))


def made(folder: Path, random: Random, engine: str, more: Mapping[str, str]) -> Told:
    layout = some_table(random, engine)
    table = stored(folder, layout, **more)
    kinds = (0, 0, 1, 2, 3) if engine == "deduplicate" else (0, 2)
    return Told(random, History(random, table, kinds))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_lookup_tells_what_readers_see(tmp_path: Path, engine: str, number: int, seed: int) -> None:
    """After a write, and however many writes were before the compaction."""
    random = Random(f"{seed} lookup {engine} {number}")
    size = SMALL if number % 2 else {}
    told = made(tmp_path, random, engine, size | {"changelog_producer": "lookup"})
    told.history.append_base()
    told.follow(random.choice(("auto", "full")))
    for _ in range(times(4)):
        told.history.append(random.choice((1, 1, 3)))
        told.follow("auto", touched=[((), 0)], parallelism=random.choice((1, 4)))
        told.check()
        if random.random() < 0.3:
            told.follow(random.choice(("minor", "full")))
            told.check()
    assert not any(file.level == 0 for file in tables.reload(told.history.table).live_files())


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "first-row"])
@pytest.mark.parametrize("number", range(times(1)))
def test_full_compactions_tell_the_changes_since_the_last(
    tmp_path: Path, engine: str, number: int, seed: int
) -> None:
    random = Random(f"{seed} full {engine} {number}")
    every = random.choice((1, 3))
    more = {"changelog_producer": "full-compaction", "full_compaction__delta_commits": str(every)}
    told = made(tmp_path, random, engine, SMALL | more)
    for turn in range(1, 7):
        told.history.append(1)
        before = told.seen
        told.follow("auto", touched=[((), 0)])
        if turn % every == 0:
            told.check()
        else:
            assert not [
                n
                for n in range(before + 1, told.seen + 1)
                if changes_of(tables.reload(told.history.table), n)
            ]
    told.follow("minor")
    told.follow("full")
    told.check()


def test_rows_written_again_as_they_are_are_no_change(tmp_path: Path) -> None:
    found = tables.table(tmp_path, tables.new_table(bucket="1", changelog_producer="lookup"))
    folder = str(tmp_path)
    jobs.written(folder, [{"k": 1, "v": 1}, {"k": 2, "v": None}])
    jobs.compacted(folder, "auto")
    jobs.written(folder, [{"k": 1, "v": 1}, {"k": 2, "v": None}, {"k": 3, "v": 3}])
    jobs.compacted(folder, "auto")
    now = tables.reload(found)
    assert changes_of(now, 2) == [(0, {"k": 1, "v": 1}), (0, {"k": 2, "v": None})]
    assert changes_of(now, 4) == [(0, {"k": 3, "v": 3})]


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
@pytest.mark.parametrize("many", [1, 40])
def test_updates_to_equal_values_are_told_if_asked_for(
    tmp_path: Path, producer: str, many: int
) -> None:
    """As Paimon tells them: of each key that was written, however many others there are."""
    more = {"changelog_producer": producer, "changelog_producer__row_deduplicate": "false"}
    found = tables.table(tmp_path, tables.new_table(bucket="1", **more))
    folder = str(tmp_path)
    jobs.written(folder, [{"k": k, "v": k} for k in range(many + 2)])
    jobs.compacted(folder, "auto")
    jobs.written(folder, [{"k": 0, "v": 0}, {"k": 1, "v": 9}, {"k": many + 2, "v": 3}])
    jobs.compacted(folder, "auto")
    rows = [(0, 0), (0, 0), (1, 1), (1, 9), (many + 2, 3)]
    told = [{"k": k, "v": v} for k, v in rows]
    assert changes_of(tables.reload(found), 4) == list(zip((1, 2, 1, 2, 0), told, strict=True))


def test_an_interval_says_when_changes_are_told(tmp_path: Path) -> None:
    for interval, told in (("1 h", []), ("1 ms", [(0, {"k": 1, "v": 1})])):
        folder = tmp_path / str(len(told))
        folder.mkdir()
        more = {"changelog_producer": "full-compaction"}
        more["changelog_producer__compaction_interval"] = interval
        found = tables.table(folder, tables.new_table(bucket="1", **more))
        jobs.written(str(folder), [{"k": 1, "v": 1}])
        time.sleep(0.01)
        jobs.compacted(str(folder), "auto")
        now = tables.reload(found)
        every = range(1, (now.snapshot_id or 0) + 1)
        assert [one for n in every for one in changes_of(now, n)] == told


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
@pytest.mark.parametrize("left_out", [("-U",), ("-D",), ("-U", "-D")])
def test_changelogs_leave_out_what_options_say(
    tmp_path: Path, producer: str, left_out: tuple[str, ...]
) -> None:
    names = {"-U": "ignore-update-before", "-D": "ignore-delete"}
    options = {f"changelog-producer.{names[kind]}": "true" for kind in left_out}
    catalog = keyfold.connect(tmp_path)
    table = catalog.create_table(
        "t", {"k": "INT", "v": "INT"}, ["k"], (), options | {"changelog-producer": producer}
    )
    table.upsert([{"k": 1, "v": 1}, {"k": 2, "v": 1}])
    table.upsert([{"k": 1, "v": 2}])
    table.delete([{"k": 2}])
    told = table.changes(1, view="audit_log").to_arrow().to_pylist()
    expected = [("+I", 1, 1), ("+I", 2, 1), ("-U", 1, 1), ("+U", 1, 2), ("-D", 2, 1)]
    assert sorted(tuple(row.values())[:3] for row in told) == sorted(
        row for row in expected if row[0] not in left_out
    )
    with pytest.raises(TableError, match=r"ignore-.* = true needs changelog-producer = lookup or"):
        catalog.create_table("n", {"k": "INT"}, ["k"], (), options)
