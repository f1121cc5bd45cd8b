"""The cap on a worker's memory (spark.keyfold.worker.memory), and the error that names it.

The limit counts what a worker allocates on top of what it shares with the fork server, so that the
number means the same whichever libraries are loaded.
"""

import os
import resource

from keyfold import budget
from keyfold.errors import KeyfoldError
from keyfold.worker.wire import describe

OPTION = "spark.keyfold.worker.memory"
LEAST = 128 << 20  # Arrow's allocator takes 64 MiB at its first use


def cap(allowed: int | None) -> None:
    """Let this process allocate at most `allowed` more bytes (at least LEAST); None: no limit."""
    if allowed is None:
        return
    if allowed < LEAST:
        raise KeyfoldError(
            f"{OPTION} is {allowed} bytes; a worker needs at least {LEAST >> 20} MiB"
        )
    limit = budget.taken() + allowed
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def explained(error: Exception) -> Exception:
    """The error as it is, or, where memory ran out, one of ours that says which option to raise."""
    if not isinstance(error, MemoryError) and "can't start new thread" not in str(error):
        return error
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    capped = "has no cap of its own" if limit == resource.RLIM_INFINITY else "reached its cap"
    ours = KeyfoldError(
        f"worker {os.getpid()} could not get more memory and {capped} ({OPTION}, on top of what it "
        f"shares with the fork server; {budget.taken()} bytes of data in all, limit {limit}); "
        f"raise {OPTION}, or lower the table's write-buffer-size. Python says: {describe(error)}"
    )
    ours.__cause__ = error
    return ours
