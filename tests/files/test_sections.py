"""Sections and runs of random files against their definition."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from keyfold.files.sections import needs_sequence, runs, sections
from tests.files.keyed import KeyedFile


def keyed(first: int, width: int, low: int, span: int, level: int = 0) -> KeyedFile:
    return KeyedFile(
        f"{first}+{width}:{low}+{span}",
        1,
        1,
        0,
        low,
        low + span,
        0,
        level,
        (first,),
        (first + width,),
    )


files = st.lists(
    st.builds(keyed, st.integers(0, 30), st.integers(0, 6), st.integers(0, 9), st.integers(0, 2)),
    max_size=12,
    unique_by=lambda f: f.name,
)


def overlap(a: KeyedFile, b: KeyedFile) -> bool:
    return a.first <= b.last and b.first <= a.last


@given(files)
def test_sections_are_the_connected_parts(found: list[KeyedFile]) -> None:
    parts = sections(found)
    assert sorted(f.name for part in parts for f in part) == sorted(f.name for f in found)
    for one, other in combinations(parts, 2):
        assert not any(overlap(a, b) for a in one for b in other)
    for part in parts:
        reached, grown = {part[0]}, True
        while grown:
            more = {b for b in part if any(overlap(a, b) for a in reached)} | reached
            grown, reached = len(more) > len(reached), more
        assert reached == set(part)
    assert [part[0].first for part in parts] == sorted(part[0].first for part in parts)


@given(files)
def test_runs_hold_each_key_once_and_their_order_decides(found: list[KeyedFile]) -> None:
    by_name = {f.name: f for f in found}
    for part in sections(found):
        section = runs(part)
        assert sum(map(len, section)) == len(part)
        for run in section:
            ordered = [by_name[file.name] for file in run]
            assert all(a.last < b.first for a, b in pairwise(ordered))
        if not needs_sequence(section):
            for older, newer in pairwise(section):
                assert max(f.max_sequence for f in older) < min(f.min_sequence for f in newer)


def test_jobs_beside_each_other_make_one_run() -> None:
    base = [keyed(start, 9, 0, 0, level=5) for start in range(0, 1000, 10)]
    jobs = [keyed(start, 4, 1 + start, 0) for start in range(0, 1000, 5)]
    (section,) = sections([*base, keyed(0, 999, 5000, 0)])
    assert [len(run) for run in runs(section)] == [100, 1]
    whole = [keyed(0, 1000, 0, 0, level=5), *jobs]
    assert [len(run) for run in runs(sections(whole)[0])] == [1, 200]
    assert not needs_sequence(runs(sections(whole)[0]))


def test_files_of_one_level_that_overlap_are_taken_apart() -> None:
    (section,) = sections([keyed(0, 5, 1, 0, level=1), keyed(3, 5, 2, 0, level=1)])
    assert [len(run) for run in runs(section)] == [1, 1]
