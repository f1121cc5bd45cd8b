"""How much memory this process may still take: the one place that sizes windows, buffers, spills.

A worker's cap is RLIMIT_DATA, set by bridge/memory.py; what counts against it is private writable
memory, mapped or touched.
"""

from __future__ import annotations

import ctypes
import resource
from pathlib import Path

DEFAULT = 512 << 20  # the default of spark.keyfold.worker.memory, and of processes without a cap

_RESERVED = 24 << 20  # stacks of threads, Python's own objects, pieces too small to be used


def bytes() -> int:
    """Bytes this process may still allocate, at least 0; of DEFAULT where nothing limits it.

    To be asked when a reader or writer starts, not while it holds what it asked for.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if limit == resource.RLIM_INFINITY:
        return DEFAULT - _RESERVED
    return max(limit - taken() + _idle() - _RESERVED, 0)


def taken() -> int:
    """Bytes of private writable memory that are mapped: what RLIMIT_DATA limits."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    lines = (line for line in status.splitlines() if line.startswith("VmData:"))
    return next((int(line.split()[1]) * 1024 for line in lines), 0)


class _Malloc(ctypes.Structure):
    """`struct mallinfo2` of glibc 2.33 and later."""

    _fields_ = tuple((f"field{place}", ctypes.c_size_t) for place in range(10))


def _idle() -> int:
    """Bytes that malloc holds and nobody uses; 0 where libc does not say."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = _Malloc
    return int(mallinfo().field8)
