"""Picks against a slow statement of Paimon's rules (semantics/paimon.md c.5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.compact.pick import PickRules, RunPick, pick, pick_level_0, unit

KB = 1 << 10


@dataclass(frozen=True)
class Run:
    level: int
    bytes: int


@st.composite
def buckets(draw: st.DrawFn) -> tuple[list[Run], PickRules]:
    """Runs as a bucket may have them, some levels empty, and rules."""
    trigger = draw(st.integers(1, 6))
    levels = draw(st.integers(2, 7))
    limits = st.none() | st.integers(1, 400)
    ratio, amplification = draw(st.sampled_from([0, 1, 50])), draw(st.sampled_from([0, 50, 200]))
    rules = PickRules(
        trigger, trigger + 3, levels, ratio, amplification, draw(limits), draw(limits)
    )
    sizes = st.integers(1, 20) | st.integers(1, 1000)
    low = draw(st.lists(sizes, max_size=9))
    high = draw(st.dictionaries(st.integers(1, rules.top), sizes))
    runs = [Run(0, size) for size in low] + [Run(n, high[n]) for n in sorted(high)]
    return runs, rules


def definition(runs: Sequence[Run], rules: PickRules, is_due: bool) -> RunPick | None:
    """Paimon's rules, one sentence each, over all counts of runs there are."""
    n, sizes = len(runs), [run.bytes for run in runs]
    everything = RunPick(n, rules.top)
    new = sum(run.bytes for run in runs if run.level < rules.top)
    if n > 1 and is_due:
        return everything
    if n > 1 and rules.total_size is not None and sum(sizes) < rules.total_size:
        return everything
    if n > 1 and rules.incremental_size is not None and new > rules.incremental_size:
        return everything
    if n >= rules.trigger and 100 * sum(sizes[:-1]) > rules.max_amplification * sizes[-1]:
        return everything
    starts = [1] if n >= rules.trigger else []
    starts += [n - rules.trigger + 1] if n > rules.trigger else []
    for start in starts:
        count = reached(runs, rules, start, start > 1)
        if count > 1:
            return made(runs, rules, count)
    return None


def reached(runs: Sequence[Run], rules: PickRules, start: int, forced: bool) -> int:
    """The most runs such that each, from `start` on, may be taken with all before it."""

    def may_join(place: int) -> bool:
        before = sum(run.bytes for run in runs[:place])
        is_small = before * (100 + rules.size_ratio) >= 100 * runs[place].bytes
        return is_small or ((forced or place > start) and runs[place].level <= 1)

    counts = range(start, len(runs) + 1)
    return max(c for c in counts if all(may_join(place) for place in range(start, c)))


def made(runs: Sequence[Run], rules: PickRules, count: int) -> RunPick:
    """To the level below the next run's; where that is 0, on to the first run above level 0."""
    if count < len(runs) and runs[count].level >= 2:
        return RunPick(count, runs[count].level - 1)
    above = [c for c in range(count, len(runs)) if runs[c].level > 0]
    if count == len(runs) or not above or above[0] + 1 == len(runs):
        return RunPick(len(runs), rules.top)
    return RunPick(above[0] + 1, runs[above[0]].level)


@given(buckets(), st.booleans())
def test_picks_are_paimons(bucket: tuple[list[Run], PickRules], is_due: bool) -> None:
    runs, rules = bucket
    if runs:
        assert pick(runs, rules, is_due=is_due) == definition(runs, rules, is_due)


@given(buckets())
def test_level_0_is_taken_whole(bucket: tuple[list[Run], PickRules]) -> None:
    runs, rules = bucket
    low = sum(run.level == 0 for run in runs)
    expected = made(runs, rules, reached(runs, rules, low, True)) if low else None
    assert pick_level_0(runs, rules) == expected


@given(buckets(), st.data())
def test_a_pick_has_room_at_its_level(
    bucket: tuple[list[Run], PickRules], data: st.DataObject
) -> None:
    runs, rules = bucket
    if not runs:
        return
    found = unit(runs, rules, data.draw(st.integers(1, len(runs))))
    assert 0 < found.level <= rules.top
    assert all(run.level <= found.level for run in runs[: found.count])
    assert all(run.level > found.level for run in runs[found.count :])


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([(0, 1)] * 4, None),
        ([(0, 1)] * 4 + [(5, 100)], RunPick(4, 4)),
        ([(0, 1)] * 2 + [(3, 2), (4, 9), (5, 100)], RunPick(3, 3)),
        ([(0, 30)] * 4 + [(5, 50)], RunPick(5, 5)),
        ([(0, 1)] * 5, RunPick(5, 5)),
    ],
)
def test_what_the_defaults_do(sizes: list[tuple[int, int]], expected: RunPick | None) -> None:
    runs = [Run(level, size * KB) for level, size in sizes]
    assert pick(runs, PickRules(5, 8, 6, 1, 200)) == expected
