"""Timing, cold and warm, and the memory that it took at most."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from integration.faults import processes

MB = 1 << 20
Step = Callable[[int], object]


def nothing(turn: int) -> None:
    """What is done before a turn where nothing is."""


@dataclass(frozen=True)
class Pace:
    """How often: `repeat` warm turns, fewer once they took `budget` seconds together."""

    repeat: int
    budget: float


@dataclass(frozen=True)
class Times:
    """Seconds of the first turn, whose files were not in memory, and of each later one."""

    cold: float
    warm: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of the warm turns; of the cold one where it is the only one."""
        return statistics.median(self.warm or (self.cold,))


def seconds(step: Step, turn: int) -> float:
    """How long one turn takes."""
    start = time.perf_counter()
    step(turn)
    return time.perf_counter() - start


def times(
    step: Step,
    pace: Pace,
    before: Step = nothing,
    files: Sequence[Path] = (),
    after_cold: Callable[[], object] | None = None,
) -> Times:
    """A turn with the files out of the page cache, then warm ones."""
    before(0)
    evict(files)
    cold = seconds(step, 0)
    if after_cold:
        after_cold()
    return Times(cold, warm(step, pace, before))


def in_turns(steps: Mapping[str, Step], pace: Pace, files: Sequence[Path] = ()) -> dict[str, Times]:
    """What each step takes where one follows the other, so that what the table and the machine come
    to in time is the same for all. The budget is that of a step.
    """
    cold = {}
    for name, step in steps.items():
        evict(files)
        cold[name] = seconds(step, 0)
    found: dict[str, list[float]] = {name: [] for name in steps}

    def turn(number: int) -> None:
        for name, step in steps.items():
            found[name].append(seconds(step, number))

    warm(turn, Pace(pace.repeat, pace.budget * len(steps)))
    return {name: Times(cold[name], tuple(of)) for name, of in found.items()}


def warm(step: Step, pace: Pace, before: Step = nothing) -> tuple[float, ...]:
    """Turns from 1 on."""
    found: list[float] = []
    while len(found) < pace.repeat and (not found or sum(found) < pace.budget):
        before(len(found) + 1)
        found.append(seconds(step, len(found) + 1))
    return tuple(found)


def evict(folders: Iterable[Path]) -> None:
    """Drop files from the page cache: those of folders, at any depth."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                file = os.open(path, os.O_RDONLY)
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)


def size(folder: Path) -> int:
    """Bytes of the files in a folder, at any depth; what vanishes meanwhile counts nothing."""
    found = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                found += (Path(parent) / name).stat().st_size
            except FileNotFoundError:
                continue
    return found


class Peaks:
    """Peak resident memory between enter and exit: of a main process and of keyfold's below it."""

    def __init__(self, main: int) -> None:
        self.main = main
        self.by_pid: dict[int, int] = {}
        self.servers: set[int] = set()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peaks:
        for pid in (self.main, *processes.workers(self.main)):
            processes.reset_peak(pid)
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._look()
        self.over.set()
        self.thread.join()

    def _watch(self) -> None:
        while not self.over.wait(0.2):
            self._look()

    def _look(self) -> None:
        workers = processes.workers(self.main)
        self.servers |= workers & processes.children(self.main)
        for pid in (self.main, *workers):
            peak = processes.peak_memory(pid)
            self.by_pid[pid] = max(self.by_pid.get(pid, 0), peak)

    @property
    def memory(self) -> dict[str, int]:
        """MB of VmHWM: the main process, its largest worker, and the largest of the processes that
        start workers and answer the driver. Pages that forks share count for each.
        """
        workers = {p: peak for p, peak in self.by_pid.items() if p != self.main}
        largest = [peak for p, peak in workers.items() if p not in self.servers]
        return {
            "main": self.by_pid.get(self.main, 0) // MB,
            "worker": max(largest, default=0) // MB,
            "server": max((workers.get(p, 0) for p in self.servers), default=0) // MB,
        }


@dataclass(frozen=True)
class Result:
    """One figure of one system. `rows` a turn are what rates are made of; `answer` is compared with
    the other systems' of the same case; `series` and `notes` are for the report.
    """

    case: str
    system: str
    times: Times | None
    rows: int = 0
    answer: list[float] | None = None
    memory: dict[str, int] = field(default_factory=dict)
    series: dict[str, list[float]] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Seconds."""
        assert self.times is not None, self.case
        return self.times.median
