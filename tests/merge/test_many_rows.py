"""Forty thousand rows in twenty runs, of one key and of many, against the definition."""

from random import Random

import pytest

from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.testing.tables import batch, layout, records
from tests import definitions

RUNS, ROWS = 20, 2000
COLUMNS = {"k": "INT", "g": "INT", "v": "BIGINT", "t": "STRING"}
ENGINES = {
    "deduplicate": {},
    "first-row": {},
    "partial-update": {"fields.g.sequence-group": "v", "fields.v.aggregate-function": "sum"},
    "aggregation": {"fields.v.aggregate-function": "sum", "fields.g.aggregate-function": "max"},
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("keys", [1, 1 << 30])
def test_merging_is_the_definition(engine: str, keys: int, seed: int) -> None:
    random = Random(seed)
    table = layout(COLUMNS, ["k"], {"merge-engine": engine, **ENGINES[engine]})
    merge, runs, all_rows = plan_merge(table, list(COLUMNS)), [], []
    for number in range(RUNS):
        rows = [
            (0, {"k": random.randrange(keys), "g": random.choice((None, *range(9))),
                 "v": random.choice((None, 1, 2, 3)), "t": random.choice((None, "a", "b"))})
            for _ in range(ROWS)
        ]  # fmt: skip
        runs.append(SortedRun(iter(fold_unsorted(merge, [batch(table, rows)])), (number, number)))
        all_rows += definitions.fold(table, rows)
    assert records(list(merge_runs(merge, runs))) == definitions.fold(table, all_rows)
