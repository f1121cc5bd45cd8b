"""Retractions that reach every kernel of merges and folds which takes some."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pyarrow as pa

from keyfold.aggregates.group_totals import Signed, sums
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.kinds import SEQUENCE_NUMBER
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.testing.tables import batch, layout
from tests.merge.random_tables import random_records
from tests.random_values import value

ROWS = 60


def merge_retractions(random: Random) -> None:
    """Sums that take back, removals, and what they leave while older records are elsewhere."""
    columns = {"k": "INT", "n": "DOUBLE", "v": "STRING"}
    functions = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
    for removes in ("false", "true"):
        options = functions | {"aggregation.remove-record-on-delete": removes}
        table = layout(columns, ["k"], options)
        rows = random_records(random, table, ROWS, (0, 0, 1, 3))
        merge = plan_merge(table, list(columns), marks=True)
        flags = {"system_columns": True, "drop_deletes": False, "has_oldest": False}
        runs = [fold_unsorted(merge, [batch(table, rows[at::4])]) for at in range(4)]
        for _ in range(2):  # the second time some rows have marks
            list(merge_runs(plan_merge(table, ["k", "n"]), sorted_runs(runs)))
            found = list(merge_runs(merge, sorted_runs(runs), **flags))
            runs = [[part.drop_columns([SEQUENCE_NUMBER]) for part in found], runs[0]]


def sorted_runs(runs: Sequence[list[pa.RecordBatch]]) -> list[SortedRun]:
    return [SortedRun(iter(run), (at, at)) for at, run in enumerate(runs)]


def fold_signed(random: Random) -> None:
    """Sums that rows are added to and taken back from."""
    groups = np.array([random.randrange(9) for _ in range(ROWS)], dtype=np.int32)
    signs = np.array([random.choice((1, 1, -1, 2)) for _ in range(ROWS)], dtype=np.int8)
    for kind in (pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(38, 2)):
        found = sums(kind)
        assert isinstance(found, Signed)
        values = [value(kind, random, 0.2) for _ in range(ROWS)]
        found.add_signed(groups, signs, pa.array(values, kind))
