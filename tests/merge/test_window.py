"""Rounds: how many there are, and that none mixes keys of another."""

import numpy as np
import pyarrow as pa
import pytest

from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.window import rounds

ROWS = 4096


def run(keys: np.ndarray, size: int) -> SortedRun:
    batches = pa.table({"k": keys}).to_batches(size)
    return SortedRun(iter(batches), (1, 1), len(keys), keys.nbytes, 0)


@pytest.mark.parametrize("size", [64, 1000, ROWS])
@pytest.mark.parametrize("step", [ROWS, ROWS // 2, 7, 0])
@pytest.mark.parametrize("runs", [2, 32])
@pytest.mark.parametrize("most", [ROWS // 2, 4 * ROWS])
def test_rounds_are_few_however_the_runs_lie(most: int, runs: int, step: int, size: int) -> None:
    keys = [np.arange(ROWS) + place * step for place in range(runs)]
    made = rounds([run(each, size) for each in keys], ["k"], [False], 1 << 30, most)
    seen, count, least = [], 0, -1
    for pieces in made:
        cut = [part.column("k").to_numpy() for parts in pieces for part in parts]
        together = np.concatenate(cut)
        assert together.min() > least
        least, count = together.max(), count + 1
        seen.append(together)
    assert np.array_equal(np.sort(np.concatenate(seen)), np.sort(np.concatenate(keys)))
    assert count <= max(3 * runs * ROWS // most, 4)
