"""Every engine against its definition: random tables, runs, kinds, nulls and batch boundaries."""

from collections.abc import Iterator
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from keyfold.errors import KeyfoldError, TableError
from keyfold.merge import run, window
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.testing.tables import batch, layout, records
from tests.definitions import accepted, fold, visible
from tests.draws import draws
from tests.merge.random_tables import (
    ENGINES,
    check_same,
    cut,
    deferred,
    random_records,
    random_table,
)

# What a retraction of a product may end in.
DIVISIONS = ("/ by zero", "Non-terminating", "overflow", "Division undefined")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # FLOAT sums that reach infinity
@draws(60)
@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(0, 40), st.booleans())
def test_writing_runs_and_merging_them_is_the_definition(
    engine: str, seed: int, runs: int, rows: int, has_deletes: bool
) -> None:
    random = Random(seed)
    table = random_table(random, engine)
    kinds = (0, 0, 0, 1, 2, 3) if has_deletes else (0, 2)
    nulls = random.choice((0.0, 0.3, 0.3, 0.9, 1.0))
    sizes = [random.randrange(rows + 1) for _ in range(runs)]
    writes = [random_records(random, table, size, kinds, nulls) for size in sizes]
    output = [column.name for column in table.columns if random.random() < 0.8] or ["v"]
    merge = plan_merge(table, [column.name for column in table.columns])
    read = plan_merge(table, output)
    try:
        stored = [fold_unsorted(merge, list(cut(random, [batch(table, w)]))) for w in writes]
        sources = [
            SortedRun(deferred(random, read, cut(random, part)), (i, i))
            for i, part in enumerate(stored)
        ]
        found = records(list(merge_runs(read, sources)))
    except KeyfoldError as error:
        words = ("does not support retraction", "does not fit", "can not accept", *DIVISIONS)
        if not any(part in str(error) for part in words):
            raise
        reject()
    folded = [fold(table, accepted(table, write)) for write in writes]
    for part, expected in zip(stored, folded, strict=True):
        check_same(records(part), expected, merge.output)
    try:
        expected = visible(fold(table, [record for part in folded for record in part]))
    except TableError:  # a retraction is refused by a column that the merge did not read
        reject()
    check_same([(0, row) for _, row in found], [(0, row) for _, row in expected], output)


@pytest.mark.parametrize("engine", ENGINES)
def test_random_tables_do_fold(engine: str) -> None:
    """The test above passes over refused tables; here is that it sees enough of the others."""
    merged = 0
    for seed in range(60):
        random = Random(seed)
        table = random_table(random, engine)
        write = random_records(random, table, 40, (0, 2))
        try:
            merged += (
                len(fold_unsorted(plan_merge(table, table.key), [batch(table, write)])[0]) < 40
            )
        except KeyfoldError:
            continue
    assert merged > 40


def test_rounds_are_small_and_memory_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is read further ahead than its window; every round and batch stays small."""
    monkeypatch.setattr(window, "ROUND_ROWS", 64)
    monkeypatch.setattr(run, "OUTPUT_ROWS", 32)
    table = layout({"k": "INT", "v": "INT"}, ["k"])
    merge, rows, handed = plan_merge(table, ["k", "v"]), 2000, [0, 0, 0, 0]

    def read(number: int) -> Iterator[pa.RecordBatch]:
        for start in range(0, rows, 20):
            handed[number] += 20
            part = [(0, {"k": 2 * k + number % 2, "v": number}) for k in range(start, start + 20)]
            yield batch(table, part)

    seen = 0
    for out in merge_runs(merge, [SortedRun(read(i), (i, i)) for i in range(4)]):
        assert out.num_rows <= 32
        seen += out.num_rows
        assert sum(handed) <= 2 * seen + 4 * (16 + 20) + 2 * 128
    assert seen == 2 * rows
