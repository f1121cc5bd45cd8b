"""All that goes by time agrees on which snapshots are of a time or later: AS OF, ranges of changes,
streams and tags, also if a clock was set back between two commits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from keyfold.changelog import snapshot_ranges
from keyfold.errors import SnapshotExpiredError, TableError
from keyfold.storage.commits import commit
from keyfold.storage.history import versions
from keyfold.storage.metadata.snapshots import Snapshot, Snapshots
from keyfold.storage.table import Table
from keyfold.streams import offsets
from keyfold.streams.options import stream_options
from tests.procedures.called import called
from tests.storage import tables
from tests.storage.snapshots import expired, ids, tag


def committed(folder: Path, seconds: Sequence[int]) -> Table:
    """A table with a snapshot of each of these times, in this order."""
    found = tables.table(folder, tables.new_table(write_only="true"))
    with pytest.MonkeyPatch.context() as patch:
        for at in seconds:
            patch.setattr(time, "time", lambda at=at: float(at))
            commit.append(tables.reload(found), tables.spec(found), [tables.message(found)])
    return tables.reload(found)


def shown(table: Table, millis: int) -> int:
    """The snapshot that AS OF a time shows; 0 if there was none yet, or that one has expired."""
    try:
        return versions.at_timestamp(table, millis).snapshot_id or 0
    except (TableError, SnapshotExpiredError):
        return 0


def begun(table: Table, millis: int) -> int:
    """The snapshot after which a stream from that time begins."""
    options = {"scan.mode": "from-timestamp", "scan.timestamp-millis": str(millis)}
    return offsets.initial(table, stream_options(table.layout.name, options, "UTC")).snapshot


def tagged(table: Table, millis: int) -> int:
    """The snapshot that a tag of that time or later is given; one past the newest if none is."""

    def tag() -> int:
        given = {"tag": f"of {millis}", "timestamp": millis}
        return int(called(table, "create_tag_from_timestamp", **given)[0]["snapshot"])

    if shown(table, millis - 1) == table.snapshot_id:
        with pytest.raises(TableError, match="has no snapshot of"):
            tag()
        return table.snapshot_id + 1
    return tag()


def check(table: Table, seconds: Sequence[int]) -> None:
    for millis in range(min(seconds) * 1000 - 1, max(seconds) * 1000 + 2, 500):
        before = shown(table, millis - 1)
        not_later = (n for n, at in enumerate(seconds, 1) if 1000 * at < millis)
        assert before == max(not_later, default=0)
        assert begun(table, millis) == before
        assert tagged(table, millis) == before + 1
        found = snapshot_ranges.by_timestamp(table, 1000 * millis, True, None, True)
        assert found.after == before


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    seconds = (1000, 990, 1020)
    table = committed(tmp_path, seconds)
    assert [shown(table, 1000 * at) for at in (995, 1000, 1020)] == [2, 2, 3]
    assert [tagged(table, 1000 * at) for at in (995, 1000, 1020)] == [3, 3, 3]
    check(table, seconds)


@pytest.mark.parametrize("number", range(3))
def test_random_clocks(tmp_path: Path, number: int, seed: int) -> None:
    draw = Random(f"{seed} {number}")
    seconds = [1000 + draw.randrange(12) for _ in range(8)]
    check(committed(tmp_path, seconds), seconds)


def test_the_newest_counts_where_a_clock_was_far_off(tmp_path: Path) -> None:
    seconds = (1000, 1010, 990, 995, 1050, 1040, 1060)
    table = committed(tmp_path, seconds)
    assert [shown(table, 1000 * at) for at in (992, 1005, 1045, 1055)] == [3, 4, 6, 6]
    check(table, seconds)


def test_tags_keep_the_first_of_a_time(tmp_path: Path) -> None:
    """Paimon's CreateTagFromTimestampProcedureTest: a snapshot that a tag keeps counts."""
    table = committed(tmp_path, (1000, 1010, 1020, 1030, 1040))
    tag(table, 2)
    tag(table, 4, "later")
    expired(table, at_least=1)
    assert ids(table) == [5]
    assert [tagged(table, 1000 * at) for at in (990, 1010, 1011, 1035)] == [2, 2, 4, 5]


def test_few_snapshots_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each stretch between two times at which the clock was set back, its logarithm at most."""
    seconds = [*range(1000, 1060), *range(1030, 1090), *range(1050, 1110)]
    table, looks = committed(tmp_path, seconds), 0
    find = Snapshots.find

    def counted(self: Snapshots, snapshot_id: int) -> Snapshot | None:
        nonlocal looks
        looks += 1
        return find(self, snapshot_id)

    monkeypatch.setattr(Snapshots, "find", counted)
    for at, most in ((1200, 1), (1100, 1 + 6), (1049, 2 * (1 + 6)), (1000, 3 * (1 + 6))):
        looks = 0
        expected = max(n for n, second in enumerate(seconds, 1) if second <= at)
        assert versions.snapshot_at(table, 1000 * at).id == expected
        assert 0 < looks <= most, at


def test_snapshots_of_other_engines_are_bisected_as_paimon_does(tmp_path: Path) -> None:
    seconds = (1000, 1010, 1020, 1030, 1025)
    table = committed(tmp_path, seconds)
    for number in range(1, len(seconds)):
        path = Path(table.snapshots.path(number))
        stored = json.loads(path.read_text())
        del stored["properties"]
        path.write_text(json.dumps(stored))
    check(table, seconds)
