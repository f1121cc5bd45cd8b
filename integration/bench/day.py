"""A day of minute-by-minute upserts in fast motion, with reads between, for any system."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from integration.bench.cases import Settings
from integration.bench.measure import Peaks, Result, Times, seconds, size

EVERY, SCANS = 10, 50  # a look-up after so many commits; a full read
Times3 = dict[str, list[float]]


def run(
    settings: Settings,
    system: str,
    folder: Path,
    peaks: Peaks,
    commit: Callable[[int], object],
    point: Callable[[int], object],
    scan: Callable[[int], object],
    answer: Callable[[], list[float]],
) -> Result:
    """Commits one after another; what each took, each read, and the disk."""
    series: Times3 = {name: [] for name in ("commit", "point", "scan", "disk", "point at")}
    series["scan at"] = []
    state: list[float] | None = None
    commits = settings.commits_of(system)
    together = min(settings.commits.values())
    with peaks:
        for number in range(commits):
            series["commit"].append(seconds(commit, number))
            if number + 1 == together:
                state = answer()
            if number % EVERY == EVERY - 1 or commits <= EVERY:
                series["point"].append(seconds(point, number))
                series["point at"].append(number + 1)
                series["disk"].append(size(folder) / 1e6)
            if number % SCANS == SCANS - 1 or number + 1 == commits:
                series["scan"].append(seconds(scan, number))
                series["scan at"].append(number + 1)
    times = Times(series["commit"][0], tuple(series["commit"][1:]))
    return Result("day", system, times, settings.minute, state, peaks.memory, series)
