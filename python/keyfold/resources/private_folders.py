"""Folders that nobody but this user and root can change or lead elsewhere.

Their files are executed or unpickled. So the folders above count too: a user who may write one of
them can replace the folder that was looked at by another.
"""

import os
import stat
from pathlib import Path

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def folder(path: Path) -> Path:
    """The folder by a path without links; it is made if it is missing. Raises PermissionError if
    others may enter it, or may change it or a folder above it.
    """
    real = path.parent.resolve() / path.name
    for each in (*reversed(real.parents), real):  # downwards: folders above can't change any more
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
        if refusal := may_others_change(each):
            raise PermissionError(refusal)
    if stat.S_IMODE(real.lstat().st_mode) & 0o077 or not os.access(real, os.W_OK | os.X_OK):
        raise PermissionError(f"{real} is not this user's alone to read and write")
    return real


def may_others_change(path: Path) -> str | None:
    """The reason why other users might replace things in a folder; None if they can't. A sticky bit
    keeps them from it.
    """
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return f"{path} is not a folder"
    if found.st_uid not in (0, os.getuid()):
        return f"{path} belongs to another user (uid {found.st_uid})"
    if found.st_mode & _WRITABLE_BY_OTHERS and not found.st_mode & stat.S_ISVTX:
        return f"other users may write {path} (mode {stat.S_IMODE(found.st_mode):o})"
    return None
