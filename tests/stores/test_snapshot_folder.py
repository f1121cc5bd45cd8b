"""Which snapshots are there, with hints that lag, lie or are missing; why one, or a file of it, is
not.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError, SnapshotExpiredError
from keyfold.stores.local import LocalFiles
from keyfold.stores.snapshot_folder import SnapshotFolder


def folder_of(place: Path, ids: Sequence[int], **hints: str) -> SnapshotFolder:
    """A folder of these snapshots and hints."""
    folder = place / "snapshot"
    folder.mkdir()
    for number in ids:
        (folder / f"snapshot-{number}").write_text("{}")
    for name, text in hints.items():
        (folder / name).write_text(text)
    return SnapshotFolder(LocalFiles(), str(place))


@pytest.mark.parametrize(
    ("ids", "hint", "expected"),
    [
        ([], None, None),
        ([1, 2, 3], "3", 3),
        ([1, 2, 3], "1", 3),
        ([1, 2, 3], None, 3),
        ([1, 2, 3], "9", 3),
        ([1, 2, 3], "", 3),
        ([1, 2, 3], "three", 3),
        ([8, 9, 10, 11], "9", 11),
    ],
)
def test_latest(tmp_path: Path, ids: list[int], hint: str | None, expected: int | None) -> None:
    found = folder_of(tmp_path, ids, **({} if hint is None else {"LATEST": hint}))
    (tmp_path / "snapshot" / ".tmp-snapshot-99").write_text("{}")
    assert found.latest_id() == expected


@pytest.mark.parametrize("hints", [{"LATEST": "165"}, {"EARLIEST": "1"}])
def test_hints_without_snapshots(tmp_path: Path, hints: dict[str, str]) -> None:
    found = folder_of(tmp_path, [], **hints)
    (tmp_path / "tag").mkdir()
    (tmp_path / "tag" / "tag-monday").write_text("{}")
    (name, number) = next(iter(hints.items()))
    said = rf"lost its snapshots: .*{name} names snapshot {number}, .*restore.*tag-monday"
    with pytest.raises(CorruptDataError, match=said):
        found.latest_id()


@pytest.mark.parametrize("text", ["", "three", "-1"])
def test_hints_that_name_none(tmp_path: Path, text: str) -> None:
    assert folder_of(tmp_path, [], LATEST=text).latest_id() is None


@pytest.mark.parametrize(
    ("ids", "earliest", "number", "expected"),
    [
        ([3, 4, 5], "3", 5, CorruptDataError),  # the newest never expires
        ([3, 4, 5], "9", 5, CorruptDataError),
        ([3, 4, 5], "3", 6, SnapshotExpiredError),  # rolled back
        ([3, 4, 5], "3", 2, SnapshotExpiredError),
        ([3, 4, 5], "3", 4, CorruptDataError),  # it is there, so its file should be
        ([3, 4, 5], "5", 4, SnapshotExpiredError),  # an expiry has begun to remove it
        ([3, 5], "3", 4, CorruptDataError),  # older ones expire first
        ([3, 5], "", 4, CorruptDataError),
        ([], "", 1, CorruptDataError),
    ],
)
def test_expired_or_lost(
    tmp_path: Path, ids: list[int], earliest: str, number: int, expected: type[Exception]
) -> None:
    found = folder_of(tmp_path, ids, EARLIEST=earliest)
    assert type(found.gone(number)) is expected


def test_what_a_tag_keeps_has_not_expired(tmp_path: Path) -> None:
    found = folder_of(tmp_path, [3, 4])
    (tmp_path / "tag").mkdir()
    (tmp_path / "tag" / "tag-a").write_text("{}")
    assert isinstance(found.gone(1, "tag/tag-a"), CorruptDataError)
    assert isinstance(found.gone(1, "tag/tag-b"), SnapshotExpiredError)
