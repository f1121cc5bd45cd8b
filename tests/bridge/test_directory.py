"""The directory of the fork server's socket: never where another user could put another one."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfold.bridge import directory
from keyfold.errors import EnvironmentMismatchError


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder whose path is short, as a socket's is."""
    with tempfile.TemporaryDirectory(prefix="kf", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def usual(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one usual place for temporary files."""
    (home / "usual").mkdir()
    monkeypatch.setattr(directory, "PLACES", (str(home / "usual"),))
    return home / "usual"


def created(temporary: Path) -> Path:
    """The folder in which a directory is made, which is empty again."""
    made = directory.create(str(temporary))
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    made.rmdir()
    return made.parent


def test_below_a_folder_that_others_may_write(home: Path, usual: Path) -> None:
    (home / "open" / "own").mkdir(parents=True)
    assert created(home / "open" / "own") == home / "open" / "own"
    (home / "open").chmod(0o777)
    assert created(home / "open" / "own") == usual
    (home / "open").chmod(0o1777)
    assert created(home / "open" / "own") == home / "open" / "own"
    assert not [*(home / "open" / "own").iterdir(), *usual.iterdir()]


def test_a_missing_one_or_a_long_path(home: Path, usual: Path) -> None:
    assert created(home / "missing") == usual
    (home / ("long" * 20)).mkdir()
    assert created(home / ("long" * 20)) == usual
    assert not list((home / ("long" * 20)).iterdir())


def test_a_link_counts_as_what_it_leads_to(home: Path, usual: Path) -> None:
    (home / "real").mkdir()
    (home / "link").symlink_to(home / "real")
    assert created(home / "link") == home / "real"


def test_none_is_refused_with_each_reason(home: Path, usual: Path) -> None:
    usual.chmod(0o777)
    with pytest.raises(EnvironmentMismatchError) as refused:
        directory.create(str(home / "missing"))
    for part in ("missing: No such file", f"other users may write {usual}", "java.io.tmpdir"):
        assert part in str(refused.value)
