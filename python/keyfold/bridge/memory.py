"""A worker's memory: its cap (spark.keyfold.worker.memory), its allocator, and the error that names
the cap.

The cap counts only memory a worker allocates beyond what it shares with the fork server. So the
number means the same whichever libraries are loaded.
"""

import ctypes
import errno
import os
import resource

from keyfold.bridge.frames import describe
from keyfold.errors import KeyfoldError
from keyfold.resources import budget

OPTION = "spark.keyfold.worker.memory"
LEAST = 96 << 20
# Words of errors that mean memory ran out but are not MemoryError: Python's threads, C++, zstd.
_OTHER_WORDS = ("can't start new thread", "bad_alloc", "not enough memory")
_LAST_WORDS = 8 << 20  # on top of the cap, to report that it was reached

# Arrow takes its memory from malloc: mimalloc and jemalloc never give address space back, so under
# a limit on it they run out with half of it unused. One arena that keeps its free memory is also
# the fastest (a core merges 4 and 50 runs at 14.5 and 10.2 M rows/s; with mimalloc at 13.8 and 8.2,
# with jemalloc at 12.3 and 6.4). Its memory comes in huge pages where Linux lets a program ask for
# them, as most of a merge walks through more memory than a processor has addresses of small pages
# for: 8 % less time. glibc reads that setting as a process starts, so the JVM sets it as well.
ALLOCATOR = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_MOST_KEPT = 64 << 20
_KEPT_PART = 8  # of the cap is free memory that malloc keeps; pieces of an eighth of that go back


def tune_allocator(allowed: int) -> None:
    """Set malloc up for a process of `allowed` bytes; nothing if libc lacks these settings."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        kept = min(_MOST_KEPT, allowed // _KEPT_PART)
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_TRIM_THRESHOLD, kept)
        mallopt(_M_MMAP_THRESHOLD, kept // 8)


def cap(allowed: int | None) -> None:
    """Cap this process at `allowed` more bytes, at least LEAST; None means the default."""
    allowed = budget.DEFAULT if allowed is None else allowed
    if allowed < LEAST:
        raise KeyfoldError(
            f"{OPTION} is {allowed} bytes; a worker needs at least {LEAST >> 20} MiB"
        )
    tune_allocator(allowed)
    limit = budget.taken() + allowed
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit + _LAST_WORDS))


def explained(error: Exception) -> Exception:
    """The error; if memory ran out, one of ours instead that says what to raise."""
    if not is_of_memory(error):
        return error
    limit, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))  # the failed call's memory is still held
    if limit == resource.RLIM_INFINITY:
        wrong = (
            f"process {os.getpid()} could not get more memory, of which it has {budget.taken()} "
            "bytes; keyfold sets it no cap: leave it more beside the JVM, in the machine or its "
            "container"
        )
    else:
        wrong = (
            f"worker {os.getpid()} could not get more memory and reached its cap ({OPTION}, on top "
            f"of what it shares with the fork server; {budget.taken()} bytes of data in all, limit "
            f"{limit}); raise {OPTION}"
        )
    ours = KeyfoldError(
        f"{wrong}, or lower the table's write-buffer-size. Python says: {describe(error)}"
    )
    ours.__cause__ = error
    return ours


def is_of_memory(error: Exception) -> bool:
    """Whether memory ran out."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    return any(words in str(error) for words in _OTHER_WORDS)
