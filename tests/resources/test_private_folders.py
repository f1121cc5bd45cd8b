"""Folders whose content is executed: refused where another user could have put it there."""

import os
import stat
from pathlib import Path

import pytest

from keyfold.resources import private_folders

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")


def test_a_missing_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = private_folders.folder(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    assert made == tmp_path / "a" / "b" / "c"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (made, made.parent)] == [0o700, 0o700]
    assert private_folders.folder(made) == made


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o703])
@pytest.mark.parametrize("place", ["", "a", "a/b"])
def test_folders_above_that_others_may_write_are_refused(
    tmp_path: Path, place: str, mode: int
) -> None:
    """Who may write one can swap the folder below it after it was looked at."""
    own = private_folders.folder(tmp_path / "root" / "a" / "b" / "own")
    (tmp_path / "root" / place).chmod(mode)
    with pytest.raises(PermissionError, match=rf"other users may write .*{place} \(mode"):
        private_folders.folder(own)
    (tmp_path / "root" / place).chmod(mode | stat.S_ISVTX)
    assert private_folders.folder(own) == own


def test_the_folder_itself_is_nobody_elses(tmp_path: Path) -> None:
    own = private_folders.folder(tmp_path / "own")
    own.chmod(0o750)
    with pytest.raises(PermissionError, match="this user's alone"):
        private_folders.folder(own)
    (tmp_path / "link").symlink_to(private_folders.folder(tmp_path / "other"))
    with pytest.raises(PermissionError, match="not a folder"):
        private_folders.folder(tmp_path / "link")


def test_a_link_above_is_followed_once(tmp_path: Path) -> None:
    """The answer has no link that could lead elsewhere later; what it leads to is looked at."""
    (tmp_path / "link").symlink_to(private_folders.folder(tmp_path / "real"))
    assert private_folders.folder(tmp_path / "link" / "own") == tmp_path / "real" / "own"
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(PermissionError, match="real"):
        private_folders.folder(tmp_path / "link" / "own")


@needs_root
@pytest.mark.parametrize("place", ["", "a", "a/own"])
def test_folders_of_other_users_are_refused(tmp_path: Path, place: str) -> None:
    own = private_folders.folder(tmp_path / "root" / "a" / "own")
    os.chown(tmp_path / "root" / place, 65534, 65534)
    with pytest.raises(PermissionError, match="another user"):
        private_folders.folder(own)
