"""Folds group by group in plain Python, by an aggregate that only this test declares."""

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import ANY, Fold, Inputs, Records
from keyfold.aggregates.results import by_group, column_result
from keyfold.kernels.ops import ADD, RETRACT


def united(records: Records) -> bytes | None:
    """The sorted union of the states' bytes, less what is retracted."""
    seen: set[int] = set()
    for op, state in records:
        seen = seen - set(state or b"") if op == RETRACT else seen | set(state or b"")
    return bytes(sorted(seen))


UNITED = Fold("united", ANY, united, is_retractable=True, fold=by_group(united))
STARTS = np.array([0, 1, 3, 6], dtype=np.int64)
ORDER = np.array([5, 0, 1, 2, 4, 3], dtype=np.int64)


def test_combine_calls_once_a_group_and_leaves_lone_states_alone() -> None:
    states = pa.array([b"b", b"ab", b"cd", b"d", None, b"zz"])
    ops = np.array([ADD, ADD, ADD, ADD, ADD, RETRACT], dtype=np.int8)
    found = column_result(UNITED, Inputs(states, ops, ORDER, STARTS)).array.to_pylist()
    assert found == [b"zz", b"ab", b"c"]
