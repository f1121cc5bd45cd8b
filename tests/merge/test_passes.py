"""A filter inside a merge, which looks at fewer rows, against one behind it."""

from random import Random
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from keyfold.errors import KeyfoldError
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import Passes, merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.window import Batch
from keyfold.testing.tables import batch
from tests.draws import times
from tests.merge.random_tables import ENGINES, cut, deferred, random_records, random_table


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # FLOAT sums that reach infinity
@settings(max_examples=times(30), suppress_health_check=list(HealthCheck))  # first-row refuses many
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 30), st.integers(1, 9))
def test_a_filter_inside_the_merge_is_one_behind_it(
    engine: str, seed: int, runs: int, rows: int, share: int
) -> None:
    random = Random(seed)
    table = random_table(random, engine)
    merge = plan_merge(table, [column.name for column in table.columns])
    tested = random.choice(merge.output)
    writes = [random_records(random, table, rows, (0, 0, 2, 3), 0.3) for _ in range(runs)]

    def passes(part: Batch) -> npt.NDArray[np.bool_]:
        values = part.column(tested).to_pylist()
        return np.array([crc32(repr(value).encode()) % share == 0 for value in values], np.bool_)

    def filtered(inside: Passes | None) -> str:
        cuts = Random(seed)
        sources = [
            SortedRun(deferred(cuts, merge, cut(cuts, part)), (i, i))
            for i, part in enumerate(stored)
        ]
        out = merge_runs(merge, sources, passes=inside)
        kept = [part.filter(pa.array(passes(part))) for part in out]
        return str([row for part in kept for row in part.to_pylist()])  # NaN is NaN there

    try:
        stored = [fold_unsorted(merge, [batch(table, write)]) for write in writes]
        expected = filtered(None)
    except KeyfoldError:
        reject()
    assert filtered(passes) == expected
