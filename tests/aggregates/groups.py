"""What an aggregate makes of groups that a test writes down, and the aggregate of a signature."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from keyfold.aggregates.agg_state import AGG_STATE
from keyfold.aggregates.declaration import Aggregate, Fold, Inputs
from keyfold.aggregates.results import column_result
from keyfold.aggregates.states.signature import Signature
from keyfold.kernels.ops import ADD
from keyfold.types.logical import Atomic


def of_groups(aggregate: Aggregate, column: pa.Array, starts: Sequence[int] = ()) -> pa.Array:
    """The result of each group of rows, all of which are added in their order: groups begin at
    `starts`, which has the end too. All rows are one group if it is left out.
    """
    count = len(column)
    ops, order = np.full(count, ADD, np.int8), np.arange(count, dtype=np.int64)
    ends = np.array(starts or (0, count), dtype=np.int64)
    return column_result(aggregate, Inputs(column, ops, order, ends)).array


def merging(found: Signature) -> Fold:
    """What merges states of this signature in a table."""
    assert AGG_STATE.bind is not None
    made = AGG_STATE.bind({"agg-state": found}, Atomic("BYTES"))
    assert isinstance(made, Fold)
    return made
