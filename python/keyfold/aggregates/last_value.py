"""last_value: the last input, null or not; a retraction leaves null (Paimon FieldLastValueAgg)."""

from typing import Any

import numpy as np

from keyfold.aggregates.declare import ANY, Inputs, Pick, Records
from keyfold.kernels.buffers import Rows, Signs
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP


@kernel("void(int8[::1], int64[::1], int64[::1], int64[::1])")
def last(ops: Signs, order: Rows, starts: Rows, out: Rows) -> None:
    """out[g] is the last row of group g that does anything, -1 if that is a retraction or there is
    none.
    """
    for g in range(len(out)):
        at = starts[g + 1] - 1
        while at >= starts[g] and ops[at] == SKIP:
            at -= 1
        out[g] = order[at] if at >= starts[g] and ops[at] != RETRACT else -1


def _pick(inputs: Inputs) -> Rows:
    picks = np.empty(inputs.groups, dtype=np.int64)
    last(inputs.ops, inputs.order, inputs.starts, picks)
    return picks


def definition(records: Records) -> Any:
    """The value of the last record, None behind a retraction."""
    result = None
    for op, value in records:
        if op in (ADD, RESET):
            result = value
        elif op == RETRACT:
            result = None
    return result


LAST_VALUE = Pick(
    "last_value",
    ANY,
    definition,
    is_retractable=True,
    passes_nulls=False,
    aliases=("replace",),
    pick=_pick,
    summary="the last record's value",
    nulls="a last NULL stays",
    retraction="leaves NULL",
)
