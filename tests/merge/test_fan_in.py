"""More runs than may be open at once: the result is that of one merge, whatever was spilled."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from keyfold.errors import KeyfoldError
from keyfold.merge import fan_in
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.fan_in import cheapest
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.spill import Spilled, SpillFile
from keyfold.resources.merge_room import MergeRoom
from keyfold.testing.tables import batch, layout, parse
from tests.draws import draws
from tests.merge.random_tables import ENGINES, cut, deferred, random_records, random_table

HELD = 1 << 20
WIDE = MergeRoom(1 << 40, 1 << 30)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # FLOAT sums that reach infinity
@draws(30)
@given(
    st.integers(0, 2**32), st.integers(2, 12), st.integers(0, 30), st.booleans(), st.integers(1, 5)
)
def test_spilling_changes_no_result(
    engine: str, seed: int, runs: int, rows: int, is_read: bool, most: int
) -> None:
    random = Random(seed)
    table = random_table(random, engine)
    merge = plan_merge(table, [column.name for column in table.columns], marks=not is_read)
    writes = [random_records(random, table, random.randrange(rows + 1), (0, 0, 1, 2, 3), 0.3)]
    writes += [random_records(random, table, rows, (0, 0, 2, 3), 0.3) for _ in range(runs - 1)]
    asked = {} if is_read else {"system_columns": True, "drop_deletes": False, "has_oldest": False}

    def merged(room: MergeRoom) -> str:
        cuts = Random(seed)
        parts = [deferred(cuts, merge, cut(cuts, part)) for part in stored]
        sources = [
            SortedRun(part, (i, i), stored=cuts.randrange(100), held=HELD)
            for i, part in enumerate(parts)
        ]
        out = merge_runs(merge, sources, room=room, **asked)
        return str([row for part in out for row in part.to_pylist()])  # NaN is NaN there

    try:
        stored = [fold_unsorted(merge, [batch(table, write)]) for write in writes]
        expected = merged(WIDE)
    except KeyfoldError:
        reject()
    assert merged(MergeRoom(most * HELD, 1 << 10)) == expected


def sized(*stored: int) -> list[SortedRun]:
    return [SortedRun(iter(()), (i, i), 1, size, 8 << 20) for i, size in enumerate(stored)]


def test_what_is_spilled_is_small_and_saves_enough() -> None:
    """The large old run stays where it is; of the others just enough go."""
    assert cheapest(sized(9_000, 5, 5, 5, 5), 36 << 20) == (1, 3)
    assert cheapest(sized(9_000, 50, 50, 5, 5), 36 << 20) == (3, 5)
    assert cheapest(sized(1, 1, 9_000), 1 << 20) == (0, 2)


@pytest.mark.parametrize(("engine", "rows"), [("deduplicate", 1), ("aggregation", 4)])
def test_what_is_folded_on_the_way_is_less(
    engine: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Engines that keep records write the winners, all others every record."""
    table = layout({"k": "INT", "v": "INT"}, ["k"], {"merge-engine": engine})
    parts = [batch(table, parse(table, f"+I 1 {run}")) for run in range(4)]
    runs = [SortedRun(iter([part]), (i, i), held=HELD) for i, part in enumerate(parts)]
    spilled: list[Spilled] = []

    class Counted(SpillFile):
        def append(self, *args: Any, **options: Any) -> Spilled:
            spilled.append(super().append(*args, **options))
            return spilled[-1]

    monkeypatch.setattr(fan_in, "SpillFile", Counted)
    assert len(list(merge_runs(plan_merge(table, ["v"]), runs, room=MergeRoom(1, 1 << 10)))) == 1
    assert spilled[-1].rows == rows
