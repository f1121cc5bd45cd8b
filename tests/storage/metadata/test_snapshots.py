"""Finding the latest snapshot with hints that lag, lie or are missing."""

from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.snapshots import Snapshots
from keyfold.stores.local import LocalFiles


@pytest.mark.parametrize(
    ("ids", "hint", "expected"),
    [
        ([], None, None),
        ([], "7", None),
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
    folder = tmp_path / "snapshot"
    folder.mkdir()
    for number in ids:
        (folder / f"snapshot-{number}").write_text("{}")
    (folder / ".tmp-snapshot-99").write_text("{}")
    if hint is not None:
        (folder / "LATEST").write_text(hint)
    assert Snapshots(LocalFiles(), str(tmp_path)).latest_id() == expected


def test_no_folder(tmp_path: Path) -> None:
    assert Snapshots(LocalFiles(), str(tmp_path)).latest() is None


def test_missing_and_broken(tmp_path: Path) -> None:
    found = Snapshots(LocalFiles(), str(tmp_path))
    with pytest.raises(CorruptDataError, match=r"snapshot 4 .* does not exist"):
        found.read(4)
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / "snapshot-4").write_text("{not json")
    with pytest.raises(CorruptDataError, match=r"snapshot-4 can't be read"):
        found.read(4)
