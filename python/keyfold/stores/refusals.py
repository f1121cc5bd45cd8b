"""A disk or store that refuses: the file that could not be written or read, the right that lacks,
and advice for the user. Stores raise OSErrors, which commits look at. The doors by which a user
comes (`tables.doors`, `bridge.frames`) make StoreErrors of them.
"""

import errno
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from keyfold.errors import StoreError

_FULL = (
    "there is no room for it, of bytes (df) or of inodes (df -i), or a quota or file size limit is "
    "reached: nothing has changed; make room (for the table below its location, for rows that are "
    "spilled in spark.local.dir) and run it again"
)
_READ_ONLY = (
    "its file system is read-only, as the system makes it after an error of the disk (dmesg says "
    "so), or is mounted so: nothing has changed; mount it writable and run it again"
)
_FORBIDDEN = (
    "give that user the right to read and write the table's location (and spark.local.dir), and to "
    "enter all folders above; writers of several users need a common group and umask 002"
)
_FILES = (
    "as many files are open as the system lets a process (ulimit -n) or all of them have: nothing "
    "has changed; raise the limit for the user that the process runs as and run it again"
)
_BROKEN = "the disk or the network mount fails: see what the machine's log says of it (dmesg)"
_MOST_NAME, _MOST_PATH = 255, 4096  # bytes, in most file systems
_MOST_SHOWN = 60  # characters of what is too long
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM), _FORBIDDEN),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), _FILES),
    **dict.fromkeys((errno.EIO, errno.ESTALE, errno.ENOTCONN), _BROKEN),
    errno.EROFS: _READ_ONLY,
}


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Surrounds a library's writes to a file: an error of the system then names the file."""
    try:
        yield
    except OSError as error:
        if not error.errno or error.filename:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


@contextmanager
def named(held: str, path: str) -> Iterator[None]:
    """Surrounds work that uses the path of an open folder: an error then has its real path."""
    try:
        yield
    except Exception as error:
        told: BaseException | None = error
        while told is not None:
            _rename(told, held, path)
            told = told.__cause__ or told.__context__
        raise


def _rename(error: BaseException, held: str, path: str) -> None:
    error.args = tuple(a.replace(held, path) if isinstance(a, str) else a for a in error.args)
    if isinstance(error, OSError):
        for name in ("filename", "filename2"):
            if isinstance(file := getattr(error, name), str):
                setattr(error, name, file.replace(held, path))


def advice(error: BaseException) -> str | None:
    """Advice if a disk was full, or refused for another reason; None for other errors."""
    found = _ADVICE.get(error.errno or 0) if isinstance(error, OSError) else None
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return _too_long(os.fsdecode(error.filename or ""))
    if found is _FORBIDDEN and isinstance(error, OSError) and isinstance(error.filename, str):
        return f"{_lacking(error.filename)}; {found}"
    return found


def explained(error: OSError, doing: str) -> StoreError:
    """The error as keyfold's own; `doing` names what failed, and the table."""
    told = advice(error)
    text = str(error)
    text = text if len(text) <= _MOST_PATH else f"{text[:_MOST_SHOWN]}…"
    said = f"{doing} failed: {type(error).__name__}: {text}"
    return StoreError(said if told is None else f"{said}; {told}")


def _too_long(path: str) -> str:
    """The names in a path that are longer than file systems take."""
    name = max(path.split("/"), key=lambda part: len(part.encode(errors="replace")))
    size, whole = (len(text.encode(errors="replace")) for text in (name, path))
    if size <= _MOST_NAME < _MOST_PATH <= whole:
        return (
            f"the path has {whole} bytes, more than the {_MOST_PATH} that the system takes: "
            "nothing has changed; choose a shorter one"
        )
    shorter = "choose a shorter name"
    if "=" in name:
        shorter = "the folder of a partition is called column=value: partition by shorter values"
    return (
        f"the name {name[:_MOST_SHOWN]}… in it has {size} bytes, more than the file system takes, "
        f"mostly {_MOST_NAME}: nothing has changed; {shorter}"
    )


def _lacking(path: str) -> str:
    """The right that this process lacks on the way to a file, as far as modes of files tell."""
    who = f"{_name(os.geteuid())} (groups {', '.join(map(str, sorted(os.getgroups())))})"
    *above, last = [*reversed(Path(path).parents), Path(path)]
    for folder in above:
        if folder.exists() and not _may(folder, os.X_OK):
            return f"{who} may not enter {_shown(folder)}"
    right, mode = "read", os.R_OK
    if not last.exists() or (last.is_file() and _may(last, mode)):
        last = next(folder for folder in last.parents if folder.exists())
    if last.is_dir():
        right, mode = "make and remove files in", os.W_OK
        if not _may(last, os.R_OK):
            right, mode = "list", os.R_OK
    if _may(last, mode):
        return f"{who} may not, for a reason that the modes of files don't show"
    return f"{who} may not {right} {_shown(last)}"


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _shown(path: Path) -> str:
    found = path.stat()
    return f"{path}, which is {stat.filemode(found.st_mode)} of {_name(found.st_uid)}"


def _name(uid: int) -> str:
    """A user by name and number."""
    with suppress(KeyError):
        return f"user {pwd.getpwuid(uid).pw_name} ({uid})"
    return f"user {uid}"
