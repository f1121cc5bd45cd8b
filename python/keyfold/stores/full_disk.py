"""A disk that refuses: the file that could not be written or read, and advice for the user."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

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
    "the user that Spark's processes run as may not: give it the right to read and write the "
    "table's location and spark.local.dir, with all folders above them to be entered"
)
_FILES = (
    "as many files are open as the system lets a process (ulimit -n) or all of them have: nothing "
    "has changed; raise the limit for the user that Spark's processes run as and run it again"
)
_BROKEN = "the disk or the network mount fails: see what the machine's log says of it (dmesg)"
_LONG = (
    "a name in it is longer than the file system takes, mostly 255 bytes: the folder of a "
    "partition is called column=value; nothing has changed; partition by shorter values"
)
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM), _FORBIDDEN),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), _FILES),
    **dict.fromkeys((errno.EIO, errno.ESTALE, errno.ENOTCONN), _BROKEN),
    errno.EROFS: _READ_ONLY,
    errno.ENAMETOOLONG: _LONG,
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
    return _ADVICE.get(error.errno or 0) if isinstance(error, OSError) else None
