"""Quantile states of groups against the union of states one by one, on random rows of two tasks."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfold.aggregates import quantile_union as states
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.quantiles import QuantileCall, QuantileGroups
from keyfold.kernels.states.quantiles import MOST_EXACT
from tests.draws import draws
from tests.quantiles import percent

NOTHING = states.written(states.LEAST_COMPRESSION, np.empty(0))


def of_others(compression: int, numbers: np.ndarray) -> bytes:
    """A state as another writer may leave it: of any compression, with NaN."""
    head = compression.to_bytes(2, "little") + b"\0" + len(numbers).to_bytes(4, "little")
    return b"\1" + head + numbers.astype("<f8").tobytes()


@draws(20)
@given(st.integers(0, 60), st.randoms(use_true_random=False))
@example(60, Random(2))
def test_unions(count: int, random: Random) -> None:
    """Exact ones hold the same values; of others the quantiles are as near as a digest's."""
    rows: list[tuple[int, bytes | None]] = []
    for _ in range(count):
        size = random.choice((0, 1, 2, 300, 5000 if random.random() < 0.2 else 3))
        numbers = np.array([random.gauss(0, 9) for _ in range(size)])
        if size == 2:
            numbers[0] = np.nan
        write = states.written if size > MOST_EXACT else of_others
        state = write(random.choice((2048, 4096, 7, 65000)), numbers)
        rows += [(random.randrange(4), state), (random.randrange(4), None)]
    final = QuantileGroups(QuantileCall("quantile_union"))
    for task in (rows[::2], rows[1::2]):
        of = QuantileGroups(final.call)
        groups = np.array([group for group, _ in task], dtype=np.int32)
        of.add(groups, pa.array([state for _, state in task], pa.binary()))
        assert of.held > 0 or not len(groups)
        final.merge(np.arange(5, dtype=np.int32), next(of.states(0, 5)))
    for group, found in enumerate(final.values(0, 5).to_pylist()):
        own = [state for at, state in rows if at == group and state is not None]
        wanted, made = states.opened(states.union(own or [NOTHING])), states.opened(found)
        assert made.compression == wanted.compression
        assert (made.digest is None) == (wanted.digest is None)
        assert sorted(made.values) == sorted(wanted.values)
        for rank in (0.1, 0.5, 0.9) if wanted.digest is not None else ():
            assert abs(percent(found, rank) - wanted.digest.get_quantile(rank)) < 0.5
    final.clear()
    assert final.values(0, 2).to_pylist() == [NOTHING, NOTHING]


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"\1\0\10",
        b"\2\0\10\0",
        NOTHING + b"x",
        b"\1\0\10\1x",
        b"\1\0\10\0\1\0\0\0",
        of_others(2048, np.zeros(MOST_EXACT + 1)),
    ],
    ids=range(7),
)
def test_other_bytes_are_refused(wrong: bytes) -> None:
    task = QuantileGroups(QuantileCall("quantile_union"))
    with pytest.raises(
        GroupError, match=f"quantile_union, group 3: not a quantile state: {len(wrong)} bytes"
    ):
        task.add(np.array([0, 3], dtype=np.int32), pa.array([None, wrong], pa.binary()))
