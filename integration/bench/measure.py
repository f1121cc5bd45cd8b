"""Timing two ways of doing one thing by turns, and the memory that each took at most."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import TracebackType

from integration import processes

MB = 1 << 20


# What a goal is measured in: the ratio, seconds, or seconds later than plain Spark.
GOALS = {"": ">= {:g} x", "seconds": "<= {:g} s", "later": "<= +{:g} s"}


@dataclass(frozen=True)
class Figure:
    """Medians in seconds; `goal` is the ratio to reach unless `absolute` says otherwise."""

    name: str
    rows: int
    keyfold: float
    plain: float
    goal: float
    absolute: str
    jvm_mb: int
    workers_mb: int

    @property
    def ratio(self) -> float:
        """How many times as fast as plain Spark."""
        return self.plain / self.keyfold

    @property
    def reached(self) -> bool:
        """Whether the goal is."""
        value = {"": self.ratio, "seconds": -self.keyfold, "later": self.plain - self.keyfold}
        return value[self.absolute] >= (self.goal if not self.absolute else -self.goal)

    def to_json(self) -> dict[str, object]:
        """For the file next to the table."""
        return {**asdict(self), "ratio": round(self.ratio, 3), "reached": self.reached}

    def line(self) -> str:
        """One row of the printed table."""
        goal = GOALS[self.absolute].format(self.goal)
        speed = f"{self.rows / self.keyfold / 1e6:6.2f}" if self.rows else " " * 6
        return (
            f"{self.name:<34}{self.keyfold:8.3f} s{speed:>8}{self.plain:10.3f} s{self.ratio:8.2f} x"
            f"{goal:>12}{'yes' if self.reached else 'NO':>5}{self.jvm_mb:>8}{self.workers_mb:>9}"
        )


HEADER = (
    f"{'medians':<34}{'keyfold':>10}{'M/s':>8}{'plain Spark':>12}{'ratio':>10}"
    f"{'goal':>12}{'':>5}{'JVM MB':>8}{'workers':>9}"
)


class Peaks:
    """Peak resident memory between enter and exit: of the JVM, and summed over all its workers."""

    def __init__(self, jvm: int) -> None:
        self.jvm = jvm
        self.by_pid: dict[int, int] = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peaks:
        for pid in (self.jvm, *processes.workers(self.jvm)):
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
        while not self.over.wait(0.1):
            self._look()

    def _look(self) -> None:
        for pid in (self.jvm, *processes.workers(self.jvm)):
            peak = processes.peak_memory(pid)
            self.by_pid[pid] = max(self.by_pid.get(pid, 0), peak)

    @property
    def jvm_mb(self) -> int:
        """VmHWM of the JVM."""
        return self.by_pid.get(self.jvm, 0) // MB

    @property
    def workers_mb(self) -> int:
        """Sum of VmHWM; memory that forks share counts for each of them."""
        return sum(peak for pid, peak in self.by_pid.items() if pid != self.jvm) // MB


Step = Callable[[int], object]


def seconds(step: Step, turn: int) -> float:
    """How long one turn takes."""
    start = time.perf_counter()
    step(turn)
    return time.perf_counter() - start


def by_turns(
    ours: Step, plain: Step, repeat: int, before: Step = lambda turn: None
) -> tuple[float, float]:
    """Medians of both, each `repeat` times after one turn that does not count."""
    times: list[tuple[float, float]] = []
    for turn in range(repeat + 1):
        before(turn)
        times.append((seconds(ours, turn), seconds(plain, turn)))
    counted = times[1:]
    return statistics.median(t[0] for t in counted), statistics.median(t[1] for t in counted)
