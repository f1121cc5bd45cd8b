"""Files of a table, reached from its folder down: a link inside it leads nowhere.

Anyone who may write a table may put links into its folder, and other people's jobs read, write and
delete there. So each folder below the table's own is opened without following links, and only plain
files are opened: a pipe would be waited for, a device has no end. The table's folder may be a link.
"""

import contextlib
import os
import stat
from collections.abc import Iterator

from keyfold.errors import CorruptDataError

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}


@contextlib.contextmanager
def reached(root: str, path: str, *, make: bool = False) -> Iterator[str]:
    """Another path to `path`, which is below `root`. Its folder stays the same even if folders are
    moved meanwhile. Raises CorruptDataError if a link is on the way. An empty root means the folder
    that the file is in. `make` makes folders that are missing.
    """
    top = root or os.path.dirname(path)  # noqa: PTH120 - as text, like `path`
    folders, name = _parts(top, path)
    at = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = _step(at, folder, path, make=make)
            os.close(at)
            at = below
        yield f"/proc/self/fd/{at}/{name}"
    except OSError as error:
        if error.filename is not None:
            error.filename = path
        raise
    finally:
        os.close(at)


def _parts(root: str, path: str) -> tuple[list[str], str]:
    above, _, name = path.rpartition("/")
    folders = [part for part in above[len(root) :].split("/") if part]
    if not path.startswith(f"{root.rstrip('/')}/") or ".." in (*folders, name):
        raise odd_place(path, f"it is not below {root}")
    return folders, name


def _step(at: int, folder: str, path: str, *, make: bool) -> int:
    try:
        return os.open(folder, _STEP, dir_fd=at)
    except FileNotFoundError:
        if not make:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, dir_fd=at)
        return _step(at, folder, path, make=False)
    except NotADirectoryError:
        kind = _kind(os.stat(folder, dir_fd=at, follow_symlinks=False))
        raise odd_place(path, f"{folder} is {kind}; expected a folder") from None


def _kind(found: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(found.st_mode), "a device or a file")


@contextlib.contextmanager
def opened(reached_by: str, path: str) -> Iterator[int]:
    """A descriptor to read a plain file; raises CorruptDataError if the path is anything else."""
    try:
        descriptor = os.open(reached_by, _PLAIN)
    except OSError as error:
        if error.filename is not None and os.path.islink(reached_by):  # noqa: PTH114 - ours to word
            raise odd_place(path, "it is a link; expected a file") from None
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise odd_place(path, f"it is {_kind(found)}; expected a file")
        yield descriptor
    finally:
        os.close(descriptor)


def odd_place(path: str, found: object) -> CorruptDataError:
    """The error: at a path of a table is something that no writer makes."""
    return CorruptDataError(
        f"{path} can't be used: {found}; nothing beside a table is reached from inside its folder: "
        "find out who laid it there, and remove it"
    )
