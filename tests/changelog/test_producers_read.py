"""Changes of tables with a producer: its files are read, and what overwrites change is compared."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from keyfold.changelog.specs import ChangesRequest
from keyfold.changelog.views import AUDIT_LOG
from keyfold.errors import SnapshotExpiredError
from keyfold.files.sections import runs, sections
from keyfold.kernels.ops import KIND_NAMES
from keyfold.options.changelogs import changelog_level
from keyfold.read import scan_plan
from keyfold.read.reader import read as read_split
from keyfold.read.request import ReadRequest
from keyfold.storage.commits import commit
from keyfold.storage.metadata.entries import by_place, split_of
from keyfold.storage.table import Table
from tests.changelog.changelog_files import changes_of
from tests.changelog.ranges_of_changes import (
    State,
    changes,
    compared,
    net_in_order,
    read,
    state,
)
from tests.compact import harness as compaction
from tests.compact.histories import History, stored, written
from tests.compact.test_histories import depends_on_what_is_merged, is_refused
from tests.merge.random_tables import random_table
from tests.read import harness
from tests.storage import tables
from tests.storage.snapshots import expired


def told(found: Table, snapshot: int) -> State:
    """The rows of the files of a snapshot that the changelog has told, by key."""
    if not snapshot:
        return {}
    table = replace(tables.reload(found), snapshot_id=snapshot)
    scan = scan_plan.plan_read(table, ReadRequest(table.layout.arrow_schema.names))[0]
    counted = [f for f in table.live_files() if f.level >= changelog_level(table.options)]
    rows = []
    for place, files in by_place(counted).items():
        listed = [runs(section) for section in sections(files)]
        for batch in read_split(scan, split_of(table.layout, place, listed)):
            rows += batch.to_pylist()
    return {repr([row[name] for name in table.layout.primary_key]): row for row in rows}


def history(folder: Path, random: Random, producer: str) -> History:
    """Commits of a random table with a producer; one overwrites it."""
    engine = random.choice(("deduplicate", "partial-update", "aggregation"))
    layout = random_table(random, engine)
    while is_refused(layout) or depends_on_what_is_merged(layout):
        layout = random_table(random, engine)
    made = History(random, stored(folder, layout, changelog_producer=producer), (0, 2))
    for turn in range(6):
        if turn == 3:
            spec, messages = written(made.table, made.some(5), made.next_number())
            commit.overwrite(tables.reload(made.table), spec, messages, "all")
        else:
            made.append(random.choice((1, 2)))
        compaction.compact(made.table, random.choice(("auto", "full")), touched=[((), 0)])
    return made


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
@pytest.mark.parametrize("number", range(3))
def test_what_compactions_tell(tmp_path: Path, producer: str, number: int, seed: int) -> None:
    found = history(tmp_path, Random(f"{seed} {producer} {number}"), producer).table
    newest = tables.reload(found).snapshot_id or 0
    states = [told(found, each) for each in range(newest + 1)]
    for each, (before, after) in enumerate(pairwise(states), start=1):
        assert changes(found, each - 1, each) == sorted(compared(before, after, each))
    net = changes(found, 0, newest, net=True)  # what is not told yet is a change too
    expected = sorted(compared({}, state(found, newest), 0))
    assert [one[1:] for one in net_in_order(net)] == [one[1:] for one in net_in_order(expected)]


def test_a_range_that_ends_before_a_compaction(tmp_path: Path) -> None:
    """It has the changes that are told by then; what is net is that of its two ends."""
    found = tables.table(tmp_path, tables.new_table(changelog_producer="lookup", bucket="1"))
    harness.upsert(found, [{"k": 1, "v": 1}, {"k": 2, "v": 1}])
    harness.upsert(found, [{"k": 1, "v": 2}])
    compaction.compact(found, "full")
    harness.upsert(found, [{"k": 2, "v": 3}])

    def shown(after: int, until: int, *, net: bool = False) -> list[tuple[str, int, int]]:
        log = ChangesRequest(AUDIT_LOG.name, after, until, net=net)
        rows = read(found, log, ["rowkind", "k", "v"])
        return sorted((row["rowkind"], row["k"], row["v"]) for row in rows)

    assert shown(0, 1) == shown(0, 2) == shown(1, 2) == shown(3, 4) == []
    assert shown(0, 3) == shown(2, 3) == shown(0, 4) == [("+I", 1, 2), ("+I", 2, 1)]
    assert shown(0, 1, net=True) == [("+I", 1, 1), ("+I", 2, 1)]
    assert shown(1, 2, net=True) == [("+U", 1, 2), ("-U", 1, 1)]
    assert shown(3, 4, net=True) == [("+U", 2, 3), ("-U", 2, 1)]


def test_rows_that_were_written(tmp_path: Path) -> None:
    """Under `input` the changes of a commit are its records, those of an overwrite are compared."""
    columns = (tables.column("k"), tables.column("v"), tables.column("kind", "string"))
    options = {"changelog_producer": "input", "rowkind__field": "kind", "bucket": "1"}
    found = tables.table(tmp_path, tables.new_table(*columns, **options))
    first = [(1, 1, "+I"), (2, 1, "+I"), (2, 1, "-U"), (2, 2, "+U")]
    for rows in (first, [(1, 1, "+I"), (2, None, "-D")]):
        harness.upsert(found, ({"k": k, "v": v, "kind": kind} for k, v, kind in rows))
    commit.truncate(tables.reload(found))
    log = ChangesRequest(AUDIT_LOG.name, 0, 3)
    assert [
        (row["k"], row["v"], row["rowkind"]) for row in read(found, log, ["k", "v", "rowkind"])
    ] == [*first, (1, 1, "+I"), (2, None, "-D"), (1, 1, "-D")]
    newest = tables.reload(found)
    records = [KIND_NAMES[kind] for each in (1, 2) for kind, _ in changes_of(newest, each)]
    assert [row["rowkind"] for row in read(found, log, ["rowkind"])] == [*records, "-D"]


def test_changes_that_outlive_their_snapshots(tmp_path: Path) -> None:
    new = tables.new_table(changelog_producer="input", changelog__num_retained__min="100")
    found = tables.table(tmp_path, new)
    for number in range(4):
        harness.upsert(found, [{"k": 1, "v": number}])
    expired(found, at_least=1)
    assert tables.reload(found).snapshots.ids() == [4]
    assert [row[:2] for row in changes(found, 1, 4)] == [(n, "insert") for n in (2, 3, 4)]
    with pytest.raises(SnapshotExpiredError, match="earliest snapshot that is kept is 4"):
        changes(found, 1, 4, net=True)
