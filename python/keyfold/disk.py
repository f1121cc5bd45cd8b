"""A disk without room: which file could not be written, and what the user does about it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ADVICE = (
    "there is no room for it, or a quota or file size limit is reached: nothing has changed; make "
    "room (for the table below its location, for rows that are spilled in spark.local.dir) and run "
    "it again"
)


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Around a library's writes to a file: what the system refuses names the file."""
    try:
        yield
    except OSError as error:
        if not error.errno or error.filename:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


def advice(error: BaseException) -> str | None:
    """What to do where a disk was full."""
    return ADVICE if isinstance(error, OSError) and error.errno in _FULL else None
