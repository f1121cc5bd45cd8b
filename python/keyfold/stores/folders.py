"""Moves table folders in one step: to a free name, or in exchange with another folder.

`renameat2` does both atomically on Linux. A folder being removed is first moved to a hidden name,
so that nobody sees half a table. A replaced folder stays under its hidden name for the queries
that still read it. It and other leftovers are removed a day later, when the next table is made.
"""

import contextlib
import ctypes
import errno
import os
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from keyfold.stores.files import Files
from keyfold.stores.local import remove_tree
from keyfold.wire.layout import STAGING

DROPPED = ".dropped-"
_EXCHANGED = ".exchanged-"  # for a moment the only folder of a table: never stale
_STALE = re.compile(
    rf"(?:{re.escape(STAGING)}|{re.escape(DROPPED)})[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}"
)
STALE_SECONDS = 24 * 3600
TICK = 0.02  # seconds; kernels date files by a clock that ticks every 1 to 10 ms

_NO_REPLACE = 1
_EXCHANGE = 2
_AT_FDCWD = -100
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)
_LACKING = (errno.EINVAL, errno.ENOSYS)
LIBC = ctypes.CDLL(None, use_errno=True)


def hidden(folder: str, prefix: str) -> str:
    """A fresh hidden path in a folder."""
    return f"{folder}/{prefix}{uuid.uuid4()}"


def move(source: str, target: str) -> bool:
    """Rename a folder to a free name; False if the name is taken."""
    try:
        _rename(source, target, _NO_REPLACE)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        if error.errno not in _LACKING:
            raise
        return _move_plainly(source, target)
    return True


def _move_plainly(source: str, target: str) -> bool:
    """`move` without `renameat2`; a rename onto a folder with content fails just the same."""
    if Path(target).exists():
        return False
    try:
        Path(source).rename(target)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    return True


def exchange(source: str, target: str) -> None:
    """Swap two folders, in one step if possible; raises FileNotFoundError if one is missing.

    The folder that was at `target` counts as touched just now, so it is stale only after a day.
    """
    os.utime(target)
    try:
        _rename(source, target, _EXCHANGE)
    except OSError as error:
        if error.errno not in _LACKING:
            raise
        aside = hidden(str(Path(target).parent), _EXCHANGED)
        Path(target).rename(aside)
        Path(source).rename(target)
        Path(aside).rename(source)


def _rename(source: str, target: str, flags: int) -> None:
    if not hasattr(LIBC, "renameat2"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    done = LIBC.renameat2(
        _AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), ctypes.c_uint(flags)
    )
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), source, None, target)


def remove(files: Files, path: str) -> bool:
    """Take a folder away, in one step if it can be renamed, then delete it; False if it was
    missing. A link is removed alone: its target may be another's.
    """
    if not files.is_local:
        return files.remove_folder(path)
    aside = hidden(str(Path(path).parent), DROPPED)
    try:
        Path(path).rename(aside)
    except FileNotFoundError:
        return False
    _outlive_tick(aside)
    remove_tree(aside)
    return True


def _outlive_tick(table: str) -> None:
    """Wait until the newest schema is older than a tick of the clock. The number and the time of
    that file identify a table (`Files.stamp`), and a table made in its place may get the same
    number.
    """
    with contextlib.suppress(OSError):
        age = time.time() - (Path(table) / "schema").stat().st_mtime
        if 0 <= age < TICK:
            time.sleep(TICK - age)


def clear_stale(folder: str) -> None:
    """Delete staging and dropped folders that nothing has written to for a day."""
    for path in stale(folder):
        remove_tree(path)


def stale(folder: str) -> list[str]:
    """Staging and dropped folders that nothing has written to for a day. Folders with other names
    are left out: the folder above a table at a path is the user's own.
    """
    oldest = time.time() - STALE_SECONDS
    ours = [c for c in Path(folder).glob(".*") if _STALE.fullmatch(c.name)]
    return [str(child) for child in ours if _is_folder(child) and _newest(child) < oldest]


def _is_folder(path: Path) -> bool:
    """Whether it is a folder, or a link: to the folder of a table, wherever that is by now."""
    return path.is_symlink() or path.is_dir()


def size(folder: str) -> int:
    """The bytes of the files in a folder; 0 if it is a link."""
    files = [Path(found) / name for found, _, names in _walk(Path(folder)) for name in names]
    return sum(file.lstat().st_size for file in files if os.path.lexists(file))


def _walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    return iter(()) if folder.is_symlink() else os.walk(folder)


def _newest(folder: Path) -> float:
    """The last time that anything in a folder, or a link, was made, moved or removed."""
    try:
        stamps = [Path(found).stat().st_mtime for found, _, _ in _walk(folder)]
        stamps.append(folder.lstat().st_mtime)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return time.time()
        raise
    return max(stamps)
