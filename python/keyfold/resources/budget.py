"""The memory this process may still take: the one place that sizes windows, buffers, spills.

A worker's cap is RLIMIT_DATA, set by bridge/memory.py. Private writable memory counts against it,
whether it is only mapped or touched.
"""

from __future__ import annotations

import ctypes
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

DEFAULT = 512 << 20  # the default of spark.keyfold.worker.memory, and of processes without a cap

_RESERVED = 24 << 20  # stacks of threads, Python's own objects, pieces too small to be used
_LIMIT: ContextVar[int] = ContextVar("memory", default=DEFAULT)


@contextmanager
def limited(most: int) -> Iterator[None]:
    """Within its block, and in its thread, a process without a cap may take `most` bytes."""
    before = _LIMIT.set(most)
    try:
        yield
    finally:
        _LIMIT.reset(before)


def bytes() -> int:
    """The bytes this process may still allocate, at least 0; of DEFAULT, or those of `limited`, if
    it has no cap.

    A reader or writer asks when it starts, not while it holds the memory it asked for.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if limit == resource.RLIM_INFINITY:
        return max(_LIMIT.get() - _RESERVED, 0)
    return max(limit - taken() + _idle() - _RESERVED, 0)


def is_capped() -> bool:
    """Whether this process has a cap, as workers do."""
    return resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY


def taken() -> int:
    """The bytes of private writable memory that are mapped: RLIMIT_DATA limits them."""
    return of_process("VmData")


def of_process(figure: str) -> int:
    """A figure of this process that the kernel keeps, in bytes; 0 if it does not."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    lines = (line for line in status.splitlines() if line.startswith(f"{figure}:"))
    return next((int(line.split()[1]) * 1024 for line in lines), 0)


class _Malloc(ctypes.Structure):
    """`struct mallinfo2` of glibc 2.33 and later."""

    _fields_ = tuple((f"field{place}", ctypes.c_size_t) for place in range(10))


def _idle() -> int:
    """The bytes that malloc holds and nobody uses; 0 if libc does not tell."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = _Malloc
    return int(mallinfo().field8)
