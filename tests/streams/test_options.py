"""Options of streams, and where they make a stream begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyfold.errors import (
    ConflictError,
    CorruptDataError,
    KeyfoldError,
    SnapshotExpiredError,
    TableError,
)
from keyfold.storage.commits import commit
from keyfold.storage.maintenance import consumers
from keyfold.storage.maintenance.consumers import Position
from keyfold.storage.table import Table
from keyfold.streams import offsets
from keyfold.streams.options import stream_options
from tests.option_names import option_names
from tests.storage import tables


def grown(folder: Path, commits: int) -> Table:
    """A table of so many snapshots."""
    found = tables.table(folder)
    for _ in range(commits):
        commit.append(found, tables.spec(found), [tables.message(found)])
    return tables.reload(found)


def begin(found: Table, **given: str) -> tuple[int, int | None]:
    """The snapshot and the index at which a stream begins."""
    names = option_names(given)
    offset = offsets.initial(found, stream_options("t", names, "Z"))
    return offset.snapshot, offset.index


def test_where_streams_begin(tmp_path: Path) -> None:
    found = grown(tmp_path, 3)
    assert begin(found) == (3, 0)
    assert begin(found, scan__mode="latest") == (3, None)
    assert begin(found, scan__snapshot_id="2") == (1, None)
    assert begin(found, scan__mode="from-snapshot-full", scan__snapshot_id="2") == (2, 0)
    assert begin(found, scan__timestamp_millis="5") == (0, None)
    assert begin(found, startingTimestamp="2199-01-01 00:00:00") == (3, None)
    assert begin(found, startingVersion="4") == (3, None)
    assert begin(tables.table(tmp_path / "empty")) == (0, None)
    with pytest.raises(TableError, match="the newest is 3"):
        begin(found, startingVersion="5")
    found.snapshots.remove_expired(1, 2)
    with pytest.raises(SnapshotExpiredError, match="the earliest kept is 2"):
        begin(found, scan__timestamp_millis="5")
    with pytest.raises(SnapshotExpiredError):
        begin(found, scan__mode="from-snapshot-full", scan__snapshot_id="1")


def test_consumers_begin_where_they_ended(tmp_path: Path) -> None:
    found = grown(tmp_path, 3)
    assert begin(found, consumer_id="c") == (3, 0)
    consumers.note(found, "c", Position(3))
    assert begin(found, consumer_id="c") == (2, None)
    assert begin(found, consumer_id="other") == (3, 0)
    assert consumers.least_needed(found) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scan.mode": "compacted-full"}, "compacted-full is not supported"),
        ({"scan.mode": "from-timestamp"}, "needs scan.timestamp-millis"),
        ({"scan.mode": "latest", "scan.snapshot-id": "1"}, "does not go with"),
        ({"startingVersion": "1", "scan.snapshot-id": "1"}, "exclude each other"),
        ({"startingTimestamp": "soon"}, "expected a time such as"),
        ({"maxRowsPerTrigger": "0"}, "maxRowsPerTrigger: expected a whole number"),
        ({"consumer-id": "../c"}, "consumer-id: expected a name"),
        ({"ignore-deletes": "perhaps"}, "expected true or false"),
    ],
)
def test_refused_options(given: dict[str, str], said: str) -> None:
    with pytest.raises(KeyfoldError, match=said):
        stream_options("t", given, "Z")


@pytest.mark.parametrize(
    ("zone", "hour"), [("Z", 12), ("+02:00", 10), ("-01:30", 13.5), ("Europe/Berlin", 11)]
)
def test_times_of_a_zone(zone: str, hour: float) -> None:
    found = stream_options("t", {"startingTimestamp": "2026-01-31 12:00:00"}, zone)
    assert found.millis == 1769817600000 + int(hour * 3_600_000)


def test_offsets_know_their_table(tmp_path: Path) -> None:
    found = grown(tmp_path, 3)
    offset = offsets.offset_at(found, 2)
    assert offsets.parsed(offset.text()) == offset
    offsets.check(found, offset)
    with pytest.raises(ConflictError, match="rolled back below snapshot 4"):
        offsets.check(found, offsets.Offset(found.birth, 4, ""))
    with pytest.raises(ConflictError, match="rolled back below snapshot 2"):
        offsets.check(found, offsets.Offset(found.birth, 2, "another"))
    with pytest.raises(ConflictError, match="made anew"):
        offsets.check(found, offsets.Offset("another", 2, offset.job))
    for text in ("{", "{}", '{"table":"t","snapshot":"1","job":""}'):
        with pytest.raises(CorruptDataError, match="can't be read"):
            offsets.parsed(text)
    change = {"change": "delete_column", "name": "v"}
    tables.catalog(tmp_path).alter_table(["default"], "t", [change])
    newest = tables.reload(found)
    commit.append(newest, tables.spec(newest), [tables.message(newest)])
    with pytest.raises(TableError, match="dropped column v"):
        offsets.check(found, offset)
