"""Snapshots that are missing or can't be read."""

from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.snapshots import Snapshots
from keyfold.stores.local import LocalFiles


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
