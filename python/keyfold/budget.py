"""How much memory this process may still take: the one place that sizes windows, buffers, spills.

A worker's cap is RLIMIT_DATA, set by worker/memory.py; what counts against it is private writable
memory, mapped or touched. Memory that Arrow's allocator holds and does not use counts as taken.
"""

from __future__ import annotations

import resource
from pathlib import Path

DEFAULT = 512 << 20  # the default of spark.keyfold.worker.memory, and of processes without a cap


def bytes() -> int:
    """Bytes this process may still allocate, at least 0; DEFAULT where nothing limits it.

    To be asked when a reader or writer starts, not while it holds what it asked for.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if limit == resource.RLIM_INFINITY:
        return DEFAULT
    return max(limit - taken(), 0)


def taken() -> int:
    """Bytes of private writable memory that are mapped: what RLIMIT_DATA limits."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    lines = (line for line in status.splitlines() if line.startswith("VmData:"))
    return next((int(line.split()[1]) * 1024 for line in lines), 0)
