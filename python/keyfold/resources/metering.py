"""The cost of one question: rows, bytes, files and time by name, gathered in the code that works.

A worker opens a `Meter` for each question. The layers below add to the meter of their context, or
to nothing if it has no meter (tests, a library user). Threads that copy the context share the
meter. A figure is added once a batch or once a file, never once a row.
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from keyfold.resources import budget

Item = TypeVar("Item")
_END = object()
_STATM = Path("/proc/self/statm")


class Meter:
    """The figures of one question. Times are exclusive: an outer `metered` does not count the time
    of an inner one. So decode, merge and encode add up to no more than the time that passed.

    `peak_bytes` is the most RAM the process held during the question, with the memory it shares
    with the fork server. Workers are used again, and only the kernel sees every byte. So the figure
    is exact if the question set a record of its process. Below that record it is the most that was
    held at the end of any timed block.
    """

    def __init__(self) -> None:
        self._record = record_bytes()
        self._held = resident_bytes()
        self._figures: dict[str, int] = {}
        self._lock = threading.Lock()
        self._nested = threading.local()

    def count(self, name: str, amount: int) -> None:
        """Add to a figure."""
        with self._lock:
            self._figures[name] = self._figures.get(name, 0) + amount

    def has(self, name: str) -> bool:
        """Whether something was added to a figure."""
        return name in self._figures

    def reach(self, name: str, value: int) -> None:
        """Keep the greatest value of a figure."""
        with self._lock:
            self._figures[name] = max(self._figures.get(name, 0), value)

    def figures(self) -> dict[str, int]:
        """Every figure by name, with `peak_bytes`, as in the `metrics` of an answer."""
        with self._lock:
            return {**self._figures, "peak_bytes": self._peak()}

    def _peak(self) -> int:
        record = record_bytes()
        return record if record > self._record else max(self._held, resident_bytes())

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time of a block to `<name>_nanos`."""
        outer = getattr(self._nested, "nanos", 0)
        self._nested.nanos = 0
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            passed = time.perf_counter_ns() - start
            self.count(f"{name}_nanos", passed - self._nested.nanos)
            self._held = max(self._held, resident_bytes())
            self._nested.nanos = outer + passed


_CURRENT: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metering() -> Iterator[Meter]:
    """A meter for the work of this block."""
    meter = Meter()
    token = _CURRENT.set(meter)
    try:
        yield meter
    finally:
        _CURRENT.reset(token)


def count(name: str, amount: int) -> None:
    """Add to a figure of the current question."""
    meter = _CURRENT.get()
    if meter is not None:
        meter.count(name, amount)


def is_asked(name: str) -> bool:
    """Whether the current question has this figure already: for figures that cost time to make."""
    meter = _CURRENT.get()
    return meter is not None and meter.has(name)


def reach(name: str, value: int) -> None:
    """Keep the greatest value of a figure of the current question."""
    meter = _CURRENT.get()
    if meter is not None:
        meter.reach(name, value)


@contextmanager
def metered(name: str) -> Iterator[None]:
    """Add the time of a block to `<name>_nanos` of the current question. The block must not
    `yield`, as the time of the generator's consumer would count; see `each`.
    """
    meter = _CURRENT.get()
    if meter is None:
        yield
        return
    with meter.timed(name):
        yield


def each(name: str, items: Iterator[Item]) -> Iterator[Item]:
    """Pass items on; the time it takes to make each is added to `<name>_nanos`."""
    while True:
        with metered(name):
            item = next(items, _END)
        if item is _END:
            return
        yield item  # type: ignore[misc]


def record_bytes() -> int:
    """The most memory this process has ever held in RAM."""
    return budget.of_process("VmHWM")


def resident_bytes() -> int:
    """The memory this process holds in RAM now."""
    return int(_STATM.read_bytes().split()[1]) * resource.getpagesize()
