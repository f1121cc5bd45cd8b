"""The effect of marked rows on each column; engines need no more about partial writes."""

import numpy as np

from keyfold.aggregates.declaration import Ops
from keyfold.kernels.buffers import Mask, Rows, Signs
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADD, SKIP
from keyfold.merge.engine import MergeStep


@kernel(
    "void(int8[::1], uint8[::1], uint8[::1], int64[::1], int64[::1], int8[::1])",
)
def operations_of_column(
    ops: Signs, named: Mask, replaced: Mask, order: Rows, starts: Rows, out: Signs
) -> None:
    """`ops` without rows that don't name the column and without all that a later row replaces."""
    for g in range(len(starts) - 1):
        is_over = False
        for i in range(starts[g + 1] - starts[g]):
            at = starts[g + 1] - 1 - i
            row = order[at]
            if is_over or not named[row]:
                out[at] = SKIP
            else:
                out[at] = ADD if replaced[row] else ops[at]
            is_over = is_over or replaced[row] == 1


def column_ops(step: MergeStep, name: str, ops: Ops) -> Ops:
    """The operation of each row, in merge order, on one column, given its operation as a record.

    A row that does not name the column does nothing to it. Rows before one that replaces it do
    nothing either, so functions start again.
    """
    marks = step.marks
    if marks is None or marks.passes_over(name):
        return ops
    named, replaced = marks.names(name), marks.replaces(name)
    out = np.empty_like(ops)
    operations_of_column(
        np.ascontiguousarray(ops),
        named.view(np.uint8),
        replaced.view(np.uint8),
        step.order,
        step.starts,
        out,
    )
    return out
