"""reset_consumer and clear_consumers."""

import json
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import SnapshotExpiredError, TableError
from keyfold.storage.maintenance import consumers
from keyfold.storage.table import Table
from tests.concurrency import jobs
from tests.procedures.called import called


def made(folder: Path, commits: int = 4) -> Table:
    """A table of a few snapshots."""
    found = jobs.made(str(folder))
    for number in range(commits):
        jobs.written(str(folder), [{"k": number, "v": number}])
    return found


def follow(found: Table, **following: int) -> None:
    """Consumers of these names, as Paimon writes them."""
    folder = Path(found.layout.location) / "consumer"
    folder.mkdir(exist_ok=True)
    for name, number in following.items():
        (folder / f"consumer-{name}").write_text(json.dumps({"nextSnapshot": number}))


@pytest.mark.parametrize("following", [1, 3, 5])
def test_a_consumer_goes_on_at_a_snapshot(tmp_path: Path, following: int) -> None:
    found = made(tmp_path)
    follow(found, c=2)
    arguments = {"consumerId": "c", "nextSnapshotId": following}
    assert called(found, "reset_consumer", **arguments) == [{"result": True}]
    noted = consumers.position(found, "c")
    before = found.snapshots.find(following - 1) if following > 1 else None
    user = "" if before is None else before.commit_user
    assert noted == consumers.Position(following, user)


def test_a_new_consumer_begins_at_a_snapshot(tmp_path: Path) -> None:
    found = made(tmp_path)
    called(found, "reset_consumer", consumerId="new", nextSnapshotId=2)
    assert consumers.names(found) == ["new"]


def test_a_snapshot_whose_changes_are_gone_is_refused(tmp_path: Path) -> None:
    found = made(tmp_path)
    called(found, "expire_snapshots", retain_max=2, retain_min=1)
    assert found.snapshots.earliest_id() == 3
    with pytest.raises(SnapshotExpiredError, match="changes are kept from snapshot 4 on"):
        called(found, "reset_consumer", consumerId="c", nextSnapshotId=3)
    assert consumers.names(found) == []
    called(found, "reset_consumer", consumerId="c", nextSnapshotId=4)
    assert consumers.names(found) == ["c"]


def test_a_consumer_is_forgotten(tmp_path: Path) -> None:
    found = made(tmp_path)
    follow(found, c=2, d=2)
    assert called(found, "reset_consumer", consumerId="c") == [{"result": True}]
    assert called(found, "reset_consumer", consumerId="c") == [{"result": False}]
    assert consumers.names(found) == ["d"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"consumerId": "c", "nextSnapshotId": 0}, "expected 1, the earliest snapshot, to 5"),
        ({"consumerId": "c", "nextSnapshotId": 6}, "is 6; expected 1"),
        ({"consumerId": "../c", "nextSnapshotId": 2}, "expected a name that a file may have"),
        ({"nextSnapshotId": 2}, "argument consumerId is missing"),
    ],
)
def test_wrong_positions_are_refused(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    found = made(tmp_path)
    follow(found, c=2)
    with pytest.raises(TableError, match=said):
        called(found, "reset_consumer", **arguments)
    assert consumers.position(found, "c") == consumers.Position(2)


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ({}, []),
        ({"includingConsumers": "my.*"}, ["other"]),
        ({"includingConsumers": "my"}, ["my1", "my2", "other"]),
        ({"includingConsumers": "", "excludingConsumers": "my1.*"}, ["my1"]),
        ({"includingConsumers": "my.*", "excludingConsumers": "my1.*"}, ["my1", "other"]),
    ],
)
def test_consumers_are_cleared(tmp_path: Path, arguments: dict[str, str], left: list[str]) -> None:
    found = made(tmp_path, 1)
    follow(found, my1=1, my2=1, other=1)
    assert called(found, "clear_consumers", **arguments) == [{"result": True}]
    assert consumers.names(found) == left


def test_a_wrong_pattern_clears_nothing(tmp_path: Path) -> None:
    found = made(tmp_path, 1)
    follow(found, c=1)
    with pytest.raises(TableError, match=r"excludingConsumers is '\[', expected a regular"):
        called(found, "clear_consumers", excludingConsumers="[")
    assert consumers.names(found) == ["c"]
