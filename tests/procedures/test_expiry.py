"""Expiry after commits: disk use stays bounded, no job waits, a failure is only logged."""

import time
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import TableError
from keyfold.procedures import expiry
from keyfold.storage.maintenance import due
from keyfold.storage.table import Table
from keyfold.stores.local import LocalFiles
from tests import readers
from tests.concurrency import jobs
from tests.procedures.called import Caller, called
from tests.storage import tables
from tests.storage.snapshots import data_files, live, overwrite

COMMITS = 300


def made(folder: Path, **options: str) -> Table:
    retained = {"snapshot__num_retained__min": "5", "snapshot__time_retained": "1 ms"}
    return tables.table(folder, tables.new_table(**(retained | options)))


def on_disk(found: Table) -> int:
    return sum(path.is_file() for path in Path(found.layout.location).rglob("*"))


def test_disk_use_is_bounded_under_endless_upserts(tmp_path: Path) -> None:
    found, folder = made(tmp_path), str(tmp_path)
    counts = []
    for number in range(COMMITS):
        jobs.written(folder, [{"k": key, "v": number} for key in range(number % 7, 20)])
        if number % 10 == 9:
            jobs.compacted(folder)
            assert due.EXPIRY.finish(120)
            counts.append(on_disk(found))
    assert max(counts[-10:]) <= max(counts[:10])
    newest = tables.reload(found)
    assert newest.snapshot_id == COMMITS + COMMITS // 10
    assert len(found.snapshots.ids()) == 5
    assert data_files(found) == live(newest, *found.snapshots.ids())
    assert jobs.rows_of(newest) == expected()
    rows = readers.read(folder, "default.t").to_pylist()
    assert {row["k"]: row["v"] for row in rows} == expected()


def expected() -> dict[int, int]:
    """The newest number whose commit wrote the key."""
    return {k: max(n for n in range(COMMITS) if n % 7 <= k) for k in range(20)}


@pytest.mark.parametrize(
    ("option", "left"),
    [({}, 5), ({"write_only": "true"}, 8), ({"snapshot__expire__limit": "1"}, 5)],
)
def test_who_expires_after_a_commit(tmp_path: Path, option: dict[str, str], left: int) -> None:
    found = made(tmp_path, snapshot__expire__execution_mode="sync", **option)
    for number in range(8):
        time.sleep(0.003)
        jobs.written(str(tmp_path), [{"k": 1, "v": number}])
    assert len(found.snapshots.ids()) == left


def test_options_for_one_time(tmp_path: Path) -> None:
    found = made(tmp_path, write_only="true", snapshot__time_retained="1 h")
    for number in range(8):
        jobs.written(str(tmp_path), [{"k": 1, "v": number}])
    time.sleep(0.01)
    asked = {"options": {"snapshot.time-retained": "1 ms", "snapshot.num-retained.min": "3"}}
    assert rounds(found, **asked) == [5, 0]
    asked = {"older_than": int(time.time() * 1000) - 3_600_000, "retain_min": 1}
    assert rounds(found, **asked) == [0]
    asked = {"older_than": int(time.time() * 1000), "retain_min": 1, "max_deletes": 1}
    assert rounds(found, **asked) == [1]
    with pytest.raises(TableError, match="max_deletes is 0; expected 1 or more"):
        rounds(found, max_deletes=0)


def rounds(found: Table, **asked: Any) -> list[int]:
    """What each round of a call deletes."""
    caller = Caller()
    (row,) = called(found, "expire_snapshots", caller=caller, **asked)
    totals = [int(line.split()[-3]) for line in caller.lines]
    assert row == {"deleted_snapshots_count": totals[-1]}
    return [total - before for before, total in zip([0, *totals], totals, strict=False)]


@pytest.mark.parametrize(
    ("asked", "deleted"),
    [
        ({"retain_max": 5}, [20, 20, 20, 15, 0]),
        ({"retain_max": 5, "max_deletes": 30}, [20, 10]),
        ({"retain_max": 5, "max_deletes": 20}, [20]),
        ({"retain_max": 5, "options": {"snapshot.expire.limit": "7"}}, [7]),
        ({"retain_max": 5, "options": {"snapshot.time-retained": "2 h"}}, [20, 20, 20, 15, 0]),
    ],
)
def test_a_call_deletes_all_that_may_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], deleted: list[int]
) -> None:
    monkeypatch.setattr(expiry, "ROUND", 20)
    found = made(tmp_path, write_only="true", snapshot__time_retained="1 h")
    for _ in range(80):
        overwrite(found, tables.message(found))
    assert rounds(found, **asked) == deleted
    assert len(found.snapshots.ids()) == 80 - sum(deleted)
    assert data_files(found) == live(found, *found.snapshots.ids())


def test_a_call_reads_as_much_a_snapshot_of_however_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry, "ROUND", 20)
    read, paths = LocalFiles.read, list[str]()

    def counted(self: LocalFiles, path: str) -> bytes:
        paths.append(path)
        return read(self, path)

    def reads(commits: int) -> float:
        """Files that are read for each snapshot that expires."""
        found = made(tmp_path / f"{commits}", write_only="true", snapshot__time_retained="1 h")
        for _ in range(commits):
            overwrite(found, tables.message(found))
        paths.clear()
        assert sum(rounds(found, retain_max=1)) == commits - 1
        return len(paths) / commits

    monkeypatch.setattr(LocalFiles, "read", counted)
    assert reads(160) < 1.2 * reads(40)


def test_a_failure_is_logged_and_the_write_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = made(tmp_path, snapshot__expire__execution_mode="sync")
    consumer = Path(found.layout.location) / "consumer" / "consumer-broken"
    consumer.parent.mkdir()
    consumer.write_text("{")
    assert jobs.written(str(tmp_path), [{"k": 1, "v": 1}]) == 1
    assert "did not expire: consumer file" in capsys.readouterr().err
    consumer.unlink()
