"""Marks that retractions leave on the row of some records of a key, while older ones are elsewhere.

What a retraction removes or takes back may be in a file that is not merged. The row then says that
it replaces that. A row that needs no mark says the same by its values: those of a sum, for example.
"""

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import Aggregate, Ops
from keyfold.kernels.buffers import validity
from keyfold.kernels.ops import DELETE, RETRACT, SKIP
from keyfold.merge.engine import Folded, MergeStep
from keyfold.merge.marks.mark_columns import Flags, Marks


def removed_before(step: MergeStep, folded: Folded, marks: Marks) -> Marks:
    """The marks of rows that replace everything, where a -D among several records removed the row
    and a later one began it anew. A -D that comes last does the same without marks.
    """
    if step.kinds is None or folded.kinds is None:
        return marks
    is_removal = step.kinds == DELETE
    if step.marks is not None:
        is_removal &= ~step.marks.is_marked
    is_removed = np.logical_or.reduceat(is_removal[step.order], step.starts[:-1])
    marks = marks.everything(is_removed & ~is_removal[step.last] & (np.diff(step.starts) > 1))
    return marks.plain(is_removal[step.last])


def taken_back(
    step: MergeStep, name: str, aggregate: Aggregate, ops: Ops, result: pa.Array, marks: Marks
) -> Marks:
    """The marks of rows, of which one column is NULL though a value was taken back: it replaces
    what is there. If all its records are passed over, the column is not named.
    """
    starts = step.starts[:-1]
    if not aggregate.passes_nulls:
        has_value: Flags = np.logical_or.reduceat(ops != SKIP, starts)
        return marks.without(name, ~has_value)
    takes = (ops == RETRACT) & (validity(step.columns[name]) == 1)[step.order]
    if not aggregate.retracts_alone or not takes.any():
        return marks
    is_null = validity(result) == 0
    return marks.replacing(name, np.logical_or.reduceat(takes, starts) & is_null)
