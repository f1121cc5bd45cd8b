"""The runs of a bucket in the order of picking, and those that a pick must not tear apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from keyfold.compact.pick import Pick, Rules, unit
from keyfold.files.sections import Key, disjoint, sequence_range
from keyfold.storage.metadata.entries import LiveFile


@dataclass(frozen=True)
class BucketRun:
    """Files with disjoint keys, in key order: of one level above 0, or of one job on level 0."""

    level: int
    files: tuple[LiveFile, ...]

    @cached_property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    @cached_property
    def sequence(self) -> tuple[int, int]:
        """The least and the greatest sequence number."""
        return sequence_range(self.files)


def bucket_runs(files: Sequence[LiveFile]) -> list[BucketRun]:
    """The runs, newest first: level 0 by greatest sequence number, then the levels above."""
    by_origin: dict[tuple[int, int, int], list[LiveFile]] = {}
    for file in files:
        numbers = (0, 0) if file.level else (file.max_sequence, file.min_sequence)
        by_origin.setdefault((file.level, -numbers[0], -numbers[1]), []).append(file)
    return [
        BucketRun(origin[0], run)
        for origin in sorted(by_origin)
        for run in disjoint(by_origin[origin])
    ]


def whole(runs: Sequence[BucketRun], rules: Rules, found: Pick) -> Pick:
    """The pick and the runs that can't be left behind. After it every picked file is newer than
    each file that stays and touches its keys.
    """
    count = found.count
    while (torn := _torn(runs, count)) is not None:
        count = unit(runs, rules, torn + 1).count
    return found if count == found.count else unit(runs, rules, count)


def _torn(runs: Sequence[BucketRun], count: int) -> int | None:
    """The oldest run with a file that is not older than a picked file whose keys it touches."""
    oldest = min((run.sequence[0] for run in runs[:count]), default=0)
    for place in range(len(runs) - 1, count - 1, -1):
        if runs[place].sequence[1] >= oldest and _is_torn(runs[:count], runs[place]):
            return place
    return None


def _is_torn(picked: Sequence[BucketRun], stays: BucketRun) -> bool:
    ends = [file.last for file in stays.files]
    for file in (file for run in picked for file in run.files):
        for other in stays.files[bisect_left(ends, file.first) :]:
            if other.first > file.last:
                break
            if file.min_sequence <= other.max_sequence:
                return True
    return False


class Intervals:
    """The key ranges of files, which tell whether any of them touches another range."""

    def __init__(self, files: Sequence[LiveFile]) -> None:
        ordered = sorted((file.first, file.last) for file in files)
        self._firsts = [first for first, _ in ordered]
        self._reach = list(accumulate((last for _, last in ordered), max))

    def touch(self, first: Key, last: Key) -> bool:
        """Whether one of them holds a key from `first` to `last`, both included."""
        place = bisect_right(self._firsts, last)
        return place > 0 and self._reach[place - 1] >= first
