"""What a pick must not tear apart, and what becomes of its files, against brute force."""

from collections.abc import Sequence
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from keyfold.compact.groups import Group, Rewriting, Sorter, work
from keyfold.compact.pick import BucketRun, Intervals, PickRules, bucket_runs, unit, whole
from tests.files.keyed import KeyedFile

RULES = PickRules(5, 8, 4, 1, 200)
SMALL = 50


@st.composite
def files(draw: st.DrawFn) -> list[KeyedFile]:
    """Files of a bucket: anything on level 0, disjoint keys on each level above."""
    made: list[KeyedFile] = []
    for _ in range(draw(st.integers(0, 6))):
        made.append(keyed(draw, 0, *sorted(draw(st.tuples(*[st.integers(0, 30)] * 2)))))
    for level in draw(st.sets(st.integers(1, RULES.top))):
        cuts = sorted(draw(st.sets(st.integers(0, 30), max_size=8)))
        made += [keyed(draw, level, a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    return made


def keyed(draw: st.DrawFn, level: int, first: int, last: int) -> KeyedFile:
    low, high = sorted(draw(st.tuples(*[st.integers(0, 12)] * 2)))
    suffix = draw(st.sampled_from([".parquet", ".parquet", ".keyfold"]))
    name = f"data-{draw(st.integers(0, 1 << 60))}{suffix}"
    deletes = draw(st.sampled_from([0, 0, 3, None]))
    return KeyedFile(
        name, draw(st.integers(1, 100)), 10, deletes, low, high, 0, level, (first,), (last,)
    )


def touches(left: KeyedFile, right: KeyedFile) -> bool:
    return left.first <= right.last and right.first <= left.last


def of(runs: Sequence[BucketRun]) -> list[KeyedFile]:
    return [one for run in runs for one in run.files]


@given(files())
def test_runs_hold_all_files_newest_first(found: list[KeyedFile]) -> None:
    runs = bucket_runs(found)
    assert sorted(f.name for f in of(runs)) == sorted(f.name for f in found)
    for run in runs:
        assert all(a.last < b.first for a, b in pairwise(run.files))
        assert {f.level for f in run.files} == {run.level}
        assert run.level > 0 or len({(f.min_sequence, f.max_sequence) for f in run.files}) == 1
    order = [(run.level, -run.sequence[1] if run.level == 0 else 0) for run in runs]
    assert order == sorted(order)


@given(files(), st.data())
def test_a_whole_pick_is_the_least_that_is_newer_than_what_stays(
    found: list[KeyedFile], data: st.DataObject
) -> None:
    runs = bucket_runs(found)
    if not runs:
        return
    wanted = unit(runs, RULES, data.draw(st.integers(1, len(runs))))

    def is_whole(count: int) -> bool:
        return all(
            new.min_sequence > old.max_sequence
            for new in of(runs[:count])
            for old in of(runs[count:])
            if touches(new, old)
        )

    counts = {unit(runs, RULES, count).count for count in range(wanted.count, len(runs) + 1)}
    expected = min(count for count in counts | {wanted.count} if is_whole(count))
    assert whole(runs, RULES, wanted).count == expected


@given(files(), st.data())
def test_each_file_of_a_pick_is_merged_moved_or_left(
    found: list[KeyedFile], data: st.DataObject
) -> None:
    runs = bucket_runs(found)
    if not runs:
        return
    chosen = whole(runs, RULES, unit(runs, RULES, data.draw(st.integers(1, len(runs)))))
    picked, stays = runs[: chosen.count], runs[chosen.count :]
    todo = work(picked, stays, chosen.level, Rewriting(SMALL))
    merged = [one for group in todo.groups for one in group.files]
    moved = list(todo.upgraded)
    left = [f for f in of(picked) if f not in merged and f not in moved]
    assert len(merged) + len(moved) + len(left) == len(of(picked))
    assert all(f.level == chosen.level for f in left)
    assert all(f.level != chosen.level for f in moved)
    for one, other in combinations(of(picked), 2):
        if touches(one, other):
            assert one in merged
            assert other in merged
    for alone in moved + left:
        is_oldest = not any(touches(alone, old) for old in of(stays))
        assert not (is_oldest and (alone.delete_rows != 0 or alone.is_marked))
    for group in todo.groups:
        check_group(group, of(stays), chosen.level)
        low, high = (min(f.first for f in group.files), max(f.last for f in group.files))
        assert not any(f.first <= high and low <= f.last for f in moved + left if f.size >= SMALL)


def check_group(group: Group, stays: Sequence[KeyedFile], level: int) -> None:
    for section, oldest in zip(group.sections, group.oldest, strict=True):
        low, high = min(f.first for f in section), max(f.last for f in section)
        assert oldest == (not any(f.first <= high and low <= f.last for f in stays))
    single = [section for section in group.sections if len(section) == 1]
    if len(single) == len(group.sections):
        sorter = Sorter(level, Intervals(stays), Rewriting(SMALL))
        assert any(sorter.has_reason(section) for section in single)
        assert len(single) > 1 or sorter.ends_here(single[0][0])
