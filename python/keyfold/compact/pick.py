"""The choice of runs to merge: Paimon's universal compaction, a pure function of their sizes; then
the runs that a pick must not tear apart.

Runs are ordered newest first: those of level 0 by their sequence numbers, then one of each level
above. A pick is a number of the newest runs and their new level (semantics/paimon.md c.5).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Protocol

from keyfold.files.sections import Key, by_origin, disjoint, sequence_range
from keyfold.lazy import cached_property
from keyfold.options.changelogs import takes_level_0
from keyfold.options.declared import TableOptions
from keyfold.storage.metadata.entries import LiveFile

SMALL_BYTES = 256 << 10  # of a bucket: its files cost more than its rows


class Sized(Protocol):
    """The properties of a run that decide about a pick."""

    @property
    def level(self) -> int: ...

    @property
    def bytes(self) -> int: ...


@dataclass(frozen=True)
class RunPick:
    """The `count` newest runs go to `level`."""

    count: int
    level: int


@dataclass(frozen=True)
class PickRules:
    """The options of a pick. Sizes are bytes, None if the rule is not set. With `takes_level_0` no
    run is left on level 0. If `retractions_wait`, they merge only together with all older runs.
    """

    trigger: int
    stop: int
    levels: int
    size_ratio: int
    max_amplification: int
    total_size: int | None = None
    incremental_size: int | None = None
    takes_level_0: bool = False
    retractions_wait: bool = False

    @staticmethod
    def of(options: TableOptions, *, retractions_wait: bool = False) -> PickRules:
        """The rules in the table's options. The stop trigger is never below the trigger."""
        trigger = options.compaction_trigger
        stop = options.compaction_stop_trigger
        return PickRules(
            trigger,
            max(trigger, trigger + 3 if stop is None else stop),
            options.levels or trigger + 1,
            options.compaction_size_ratio,
            options.compaction_max_amplification,
            options.compaction_total_size,
            options.compaction_incremental_size,
            takes_level_0(options),
            retractions_wait,
        )

    def fewest(self, *, is_timed: bool) -> int:
        """The files that a bucket has at least if a write makes it due. One that `is_timed` may be
        due with two, after some time.
        """
        if self.takes_level_0:
            return 1
        is_early = is_timed or self.total_size is not None or self.incremental_size is not None
        return 2 if is_early else max(self.trigger - 1, 2)

    @property
    def top(self) -> int:
        """The greatest level."""
        return self.levels - 1


def pick(runs: Sequence[Sized], rules: PickRules, *, is_due: bool = False) -> RunPick | None:
    """The runs that need merging, None if nothing does. `is_due` means that the interval between
    full compactions (`compaction.optimization-interval`) is over.
    """
    if _is_early(runs, rules, is_due=is_due):
        return RunPick(len(runs), rules.top)
    if len(runs) < rules.trigger:
        return None
    if _size(runs[:-1]) * 100 > rules.max_amplification * runs[-1].bytes:
        return RunPick(len(runs), rules.top)
    found = _by_ratio(runs, rules, 1)
    if found is None and len(runs) > rules.trigger:
        found = _by_ratio(runs, rules, len(runs) - rules.trigger + 1)
    return found


def pick_small(
    runs: Sequence[Sized], rules: PickRules, found: RunPick | None, *, joins: bool
) -> RunPick | None:
    """All runs if the bucket is small and due, so that it is due again as late as can be; or if it
    lacks one run and `joins` others that are due, so that one commit serves all. Else as `found`.
    """
    is_due = found is not None or joins
    if is_due and _size(runs) <= SMALL_BYTES and len(runs) >= max(rules.trigger - joins, 2):
        return RunPick(len(runs), rules.top)
    return found


def pick_level_0(runs: Sequence[Sized], rules: PickRules) -> RunPick | None:
    """All runs of level 0 and those that the size ratio adds; None if level 0 is empty."""
    count = sum(run.level == 0 for run in runs)
    return _by_ratio(runs, rules, count, is_forced=True) if count else None


def unit(runs: Sequence[Sized], rules: PickRules, count: int) -> RunPick:
    """The `count` newest runs and the level below the next one. Nothing goes to level 0: if that
    would be the level, more runs are taken.
    """
    level = rules.top if count == len(runs) else max(0, runs[count].level - 1)
    while level == 0 and count < len(runs):
        level = runs[count].level
        count += 1
    return RunPick(count, rules.top if count == len(runs) else level)


def _is_early(runs: Sequence[Sized], rules: PickRules, *, is_due: bool) -> bool:
    """Whether one of the rules for a full compaction ahead of time holds."""
    if len(runs) < 2:
        return False
    if is_due or (rules.total_size is not None and _size(runs) < rules.total_size):
        return True
    new = _size([run for run in runs if run.level != rules.top])
    return rules.incremental_size is not None and new > rules.incremental_size


def _by_ratio(
    runs: Sequence[Sized], rules: PickRules, count: int, *, is_forced: bool = False
) -> RunPick | None:
    """The pick that takes runs as long as the next is not much larger than all before it. Once
    one is taken, runs of level 0 and 1 always are. None if none is taken.
    """
    is_taken = is_forced or count > 1
    size = _size(runs[:count])
    for run in runs[count:]:
        is_larger = size * (100 + rules.size_ratio) < run.bytes * 100
        if is_larger and (not is_taken or run.level > 1):
            break
        size += run.bytes
        count += 1
        is_taken = True
    return unit(runs, rules, count) if is_taken else None


def _size(runs: Sequence[Sized]) -> int:
    return sum(run.bytes for run in runs)


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
    found = sorted(by_origin(files).items(), key=itemgetter(0))
    return [BucketRun(origin[0], run) for origin, held in found for run in disjoint(held)]


def pick_whole(
    runs: Sequence[BucketRun], rules: PickRules, *, is_due: bool = False
) -> RunPick | None:
    """The runs that need merging, of level 0 in any case if the rules say so, with those that can't
    be left behind; None if nothing does.
    """
    wanted = pick(runs, rules, is_due=is_due)
    if wanted is None and rules.takes_level_0:
        wanted = pick_level_0(runs, rules)
    return None if wanted is None else whole(runs, rules, wanted)


def whole(runs: Sequence[BucketRun], rules: PickRules, found: RunPick) -> RunPick:
    """The pick and the runs that can't be left behind. After it every picked file is newer than
    each file that stays and touches its keys, and retractions are where they may merge.
    """
    if rules.retractions_wait and _is_waiting(runs[: found.count], runs[found.count :]):
        return RunPick(len(runs), rules.top)
    count = found.count
    while (torn := _torn(runs, count)) is not None:
        count = unit(runs, rules, torn + 1).count
    return found if count == found.count else unit(runs, rules, count)


def _is_waiting(picked: Sequence[BucketRun], stays: Sequence[BucketRun]) -> bool:
    """Whether a picked file has retractions that may take back from a file that stays, and would
    merge with others.
    """
    below = Intervals([file for run in stays for file in run.files])
    return len(picked) > 1 and any(
        file.delete_rows != 0 and below.touch(file.first, file.last)
        for run in picked
        for file in run.files
    )


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
