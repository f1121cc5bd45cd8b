"""Expiry: what goes, what stays, and for whom."""

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import (
    ConflictError,
    CorruptDataError,
    NotSupportedError,
    SnapshotExpiredError,
    TableError,
)
from keyfold.storage.branching import branches
from keyfold.storage.maintenance.expire import check_expirable
from keyfold.storage.maintenance.retained import Retention, metadata, pins
from keyfold.storage.metadata import snapshot_files
from keyfold.storage.table import Table
from keyfold.stores.local import LocalFiles
from tests import readers
from tests.storage import damaged, tables
from tests.storage.snapshots import (
    append,
    branch,
    consume,
    data_files,
    die,
    expired,
    ids,
    live,
    make,
    manifest_files,
    overwrite,
    tag,
)


def test_dropped_files_go_and_live_ones_stay(tmp_path: Path) -> None:
    found = make(tmp_path)
    append(found, tables.message(found))
    append(found, tables.message(found, bucket=1))
    overwrite(found, tables.message(found))
    append(found, tables.message(found))
    assert len(data_files(found)) == 4
    assert expired(found) == 3
    assert ids(found) == [4]
    assert data_files(found) == live(found, 4)
    assert manifest_files(found) == metadata(found.manifests, found.snapshots.read(4))
    folder = Path(found.layout.location) / "snapshot"
    assert {path.name for path in folder.iterdir()} == {"EARLIEST", "LATEST", "snapshot-4"}
    assert (folder / "EARLIEST").read_text() == "4"
    assert expired(found) == 0


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"at_least": 3}, [8, 9, 10]),
        ({"at_least": 1, "at_most": 4, "seconds": 3600.0}, [7, 8, 9, 10]),
        ({"at_least": 10}, list(range(1, 11))),
        ({"at_least": 1, "seconds": 3600.0}, list(range(1, 11))),
        ({"at_most": 2, "at_least": None, "seconds": 3600.0}, [9, 10]),
        ({"limit": 4}, [5, 6, 7, 8, 9, 10]),
    ],
)
def test_how_many_are_kept(tmp_path: Path, asked: dict[str, Any], kept: list[int]) -> None:
    found = make(tmp_path)
    for _ in range(10):
        overwrite(found, tables.message(found))
    assert expired(found, **asked) == 10 - len(kept)
    assert ids(found) == kept
    assert data_files(found) == live(found, *kept)


def test_a_snapshot_stays_while_its_follower_is_young(tmp_path: Path) -> None:
    found = make(tmp_path)
    for age in (9000, 7000, 5000, 3000, 1000):
        overwrite(found, tables.message(found))
        path = Path(found.snapshots.path(found.snapshots.latest_id() or 0))
        stored = json.loads(path.read_text())
        stored["timeMillis"] = int((time.time() - age) * 1000)
        path.write_text(json.dumps(stored))
    assert expired(found, seconds=3600.0) == 2
    assert ids(found) == [3, 4, 5]


def test_paimons_defaults(tmp_path: Path) -> None:
    found = make(tmp_path)
    assert Retention.of(found) == Retention(10, 2**31 - 1, 3600.0, 50)


def test_least_and_most_must_agree(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"num-retained.max \(3\) must not be less than .* \(10\)"):
        make(tmp_path, snapshot__num_retained__max="3")
    found = make(tmp_path)
    with pytest.raises(TableError, match="at least 5 and at most 2"):
        expired(found, at_least=5, at_most=2)
    with pytest.raises(TableError, match="max_deletes is -3; expected 1 or more"):
        expired(found, limit=-3)


def test_a_tag_keeps_its_files(tmp_path: Path) -> None:
    found = make(tmp_path)
    for _ in range(6):
        overwrite(found, tables.message(found))
    tag(found, 2)
    tag(found, 4, "later")
    held = live(found, 2, 4, 6)
    assert expired(found) == 5
    assert data_files(found) == held
    kept = pins(found).tags
    needed = [metadata(found.manifests, s) for s in [*kept, found.snapshots.read(6)]]
    assert manifest_files(found) == set().union(*needed)
    overwrite(found, tables.message(found))
    expired(found)
    assert live(found, 7) | held - live(found, 7) == data_files(found) | held
    assert {f.name for t in kept for f in found.manifests.live(t)} <= data_files(found)


def test_a_branch_keeps_its_files(tmp_path: Path) -> None:
    found = make(tmp_path)
    for _ in range(3):
        append(found, tables.message(found))
    branch(found, 2)
    overwrite(found, tables.message(found))
    held = live(found, 2)
    assert expired(found) == 3
    assert data_files(found) == held | live(found, 4)
    (snapshot,) = pins(found).branched
    assert metadata(found.manifests, snapshot) <= manifest_files(found)
    assert {file.name for file in found.manifests.live(snapshot)} == held


def test_a_consumer_keeps_what_it_has_yet_to_read(tmp_path: Path) -> None:
    found = make(tmp_path)
    for _ in range(6):
        overwrite(found, tables.message(found))
    consume(found, 3)
    consume(found, 5, "other")
    assert expired(found) == 1
    assert ids(found) == [2, 3, 4, 5, 6], "the one before shows what has changed"
    consume(found, 9)
    assert expired(found) == 2
    (Path(found.layout.location) / "consumer" / "consumer-c").write_text("{")
    with pytest.raises(CorruptDataError, match="consumer-c can't be read"):
        expired(found)


class Beginning(LocalFiles):
    """Files of an expiry, during which a consumer begins once it says what it will remove."""

    def replace(self, path: str, data: bytes) -> None:
        super().replace(path, data)
        if path.endswith("/EARLIEST") and data == b"6":
            consumer = Path(path).parent.parent / "consumer"
            consumer.mkdir()
            (consumer / "consumer-c").write_text('{"nextSnapshot": 3}')


def test_a_consumer_that_begins_meanwhile(tmp_path: Path) -> None:
    found = make(tmp_path)
    for _ in range(6):
        overwrite(found, tables.message(found))
    assert expired(replace(found, files=Beginning())) == 0
    assert ids(found) == [1, 2, 3, 4, 5, 6]
    assert found.snapshots.first_kept() == 1
    assert expired(found) == 1


def test_changes_kept_longer_without_a_producer_are_left_to_paimon(tmp_path: Path) -> None:
    found = make(tmp_path)
    path = Path(found.layout.location) / "schema" / "schema-0"
    schema = json.loads(path.read_text())
    schema["options"]["changelog.time-retained"] = "2 d"
    path.write_text(json.dumps(schema))
    with pytest.raises(NotSupportedError, match="keeps changes longer than snapshots"):
        check_expirable(tables.reload(found))


def test_a_reader_of_an_expired_snapshot_is_told(tmp_path: Path) -> None:
    found = make(tmp_path)
    append(found, tables.message(found))
    old = tables.reload(found)
    append(found, tables.message(found))
    overwrite(found, tables.message(found))
    expired(found)
    with pytest.raises(
        SnapshotExpiredError, match=r"snapshot 1 .* expired, the oldest kept is 3.*time-retained"
    ):
        old.live_files()
    del old


def test_a_reader_in_the_middle_of_an_expiry_is_told(tmp_path: Path) -> None:
    found = make(tmp_path)
    append(found, tables.message(found))
    snapshot = Path(found.snapshots.path(1)).read_text()
    overwrite(found, tables.message(found))
    expired(found)
    Path(found.snapshots.path(1)).write_text(snapshot)  # its manifests are gone already
    damaged.forget()
    with pytest.raises(SnapshotExpiredError, match=r"snapshot 1 .* has expired"):
        tables.reload(found).live_files(1)


def test_a_table_in_its_place_is_not_touched(tmp_path: Path) -> None:
    found = make(tmp_path)
    for _ in range(3):
        overwrite(found, tables.message(found))
    tables.catalog(tmp_path).drop_table(["default"], "t")
    with pytest.raises(ConflictError, match="dropped"):
        expired(found)
    other = make(tmp_path)
    for _ in range(3):
        overwrite(other, tables.message(other))
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        expired(found)
    assert ids(other) == [1, 2, 3]


def test_a_table_replaced_during_an_expiry_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = make(tmp_path)
    for _ in range(3):
        overwrite(found, tables.message(found))
    original, made = LocalFiles.remove, list[Table]()

    def replacing(self: LocalFiles, path: str) -> None:
        if not made:
            tables.catalog(tmp_path).drop_table(["default"], "t")
            made.append(make(tmp_path))
            for _ in range(3):
                overwrite(made[0], tables.message(made[0]))
        original(self, path)

    monkeypatch.setattr(LocalFiles, "remove", replacing)
    with pytest.raises(ConflictError, match="dropped"):
        expired(found)
    assert ids(made[0]) == [1, 2, 3]
    assert live(tables.reload(made[0]), 3) <= data_files(made[0])


def test_a_stalled_commit_does_not_take_an_expired_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = make(tmp_path)
    append(found, tables.message(found))
    original, passed = LocalFiles.publish, list[str]()

    def stalling(self: LocalFiles, path: str, data: bytes) -> int:
        if path.endswith("snapshot-2") and not passed:
            passed.append(path)
            for _ in range(5):
                append(found, tables.message(found))
            expired(found, at_least=3)
            time.sleep(0.01)
        return original(self, path, data)

    monkeypatch.setattr(LocalFiles, "publish", stalling)
    append(found, tables.message(found))
    assert ids(found) == [4, 5, 6, 7]
    assert len(live(found, 7)) == 7


def test_a_commit_whose_base_expires_at_once_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = make(tmp_path)
    append(found, tables.message(found))
    original, passed = LocalFiles.publish, list[str]()

    def overtaken(self: LocalFiles, path: str, data: bytes) -> int:
        published = original(self, path, data)
        if path.endswith("snapshot-2") and not passed:
            passed.append(path)
            append(found, tables.message(found))
            expired(found, at_least=2)
        return published

    monkeypatch.setattr(LocalFiles, "publish", overtaken)
    ours = tables.message(found)
    append(found, ours)
    assert ids(found) == [2, 3]
    assert {file.name for file in ours.files} <= live(found, 3)
    assert len(live(found, 3)) == 3


def test_pypaimon_reads_and_tags_what_is_left(tmp_path: Path) -> None:
    found = make(tmp_path)
    for _ in range(4):
        append(found, tables.message(found))
    warehouse = readers.options(tmp_path)
    readers.ask("tag", catalog=warehouse, table="default.t", name="mine", snapshot=2)
    expired(found)
    (kept,) = pins(found).tags
    assert kept.id == 2
    assert {file["name"] for file in readers.files(tmp_path, "default.t")} == live(found, 4)


@pytest.mark.parametrize("limit", [1, 1000])
def test_files_of_a_branch_that_paimon_moved_the_table_on_to(tmp_path: Path, limit: int) -> None:
    """The branch has lost the snapshot that it began with, whose file the table has dropped."""
    found = make(tmp_path)
    append(found, tables.message(found))
    branch(found, 1)
    beside = branches.open_branch(found, "b")
    for _ in range(3):
        append(beside, tables.message(beside))
    expired(beside)
    overwrite(found, tables.message(found))
    append(found, tables.message(found))
    location = Path(found.layout.location)
    shutil.copytree(f"{beside.layout.home}/snapshot", location / "snapshot", dirs_exist_ok=True)
    shutil.rmtree(beside.layout.home)
    assert ids(found) == [1, 2, 3, 4]
    while expired(found, limit=limit):
        number = ids(found)[0]
        assert live(found, number, 4) <= data_files(found)
        assert metadata(found.manifests, found.snapshots.read(4)) <= manifest_files(found)
    assert len(live(found, 4)) == 4
    overwrite(found, tables.message(found))
    expired(found)
    assert data_files(found) >= live(found, 5)
    assert len(data_files(found) - live(found, 5)) == 2  # orphans of the old line


@pytest.mark.parametrize("removals", [12, 20, 27])  # manifests, lists and snapshots are gone
def test_an_expiry_of_a_table_with_a_branch_goes_on_where_one_was_killed(
    tmp_path: Path, removals: int
) -> None:
    """The lists of manifests that the killed one removed tell no longer what follows what."""
    found = make(tmp_path, manifest__merge_min_count="3")
    append(found, tables.message(found))
    branch(found, 1)
    for change in [append, overwrite] * 3:
        change(found, tables.message(found))
    branches.delete(found, "b")
    die(found, removals)
    assert len(ids(found)) > 1
    expired(found)
    assert ids(found) == [7]
    assert data_files(found) == live(found, 7)
    assert manifest_files(found) == metadata(found.manifests, found.snapshots.read(7))


class Watched(LocalFiles):
    """Files whose reads are noted."""

    def __init__(self) -> None:
        object.__setattr__(self, "read_paths", [])

    def read(self, path: str) -> bytes:
        self.read_paths.append(path)  # type: ignore[attr-defined]
        return super().read(path)


def test_the_next_expiry_of_a_table_with_a_branch_reads_few_lists(tmp_path: Path) -> None:
    """Which snapshots follow one another is known, also if their lists are not kept any more."""
    found = make(tmp_path)
    append(found, tables.message(found))
    branch(found, 1)
    branches.delete(found, "b")
    counts = []
    for _ in range(3):
        for _ in range(8):  # so few that no manifests are merged
            append(found, tables.message(found))
        snapshot_files.LISTS.clear()
        files = Watched()
        expired(replace(found, files=files), at_least=len(ids(found)) - 1)
        paths: list[str] = files.read_paths  # type: ignore[attr-defined]
        counts.append(sum("/manifest-list-" in path for path in paths))
    assert counts[0] > 16
    assert counts[2] == counts[1] <= counts[0] + 2, counts


@pytest.mark.parametrize("removals", [4, 8, 12])
def test_an_expiry_beside_one_of_a_branch_that_was_killed(tmp_path: Path, removals: int) -> None:
    found = make(tmp_path)
    append(found, tables.message(found))
    branch(found, 1)
    beside = branches.open_branch(found, "b")
    for line in [found, beside] * 4:
        overwrite(line, tables.message(line))
    for dying, other in ((found, beside), (beside, found)):
        die(dying, removals)
        left = ids(dying)
        expired(other)
        assert len(ids(other)) == 1 < len(left) == len(ids(dying))
        assert expired(dying) == len(left) - 1
        for line in (found, beside):
            assert live(line, ids(line)[-1]) <= data_files(found)
            for _ in range(4):
                overwrite(line, tables.message(line))
