"""Marks that retractions leave on the row of some records of a key, while older ones are elsewhere.

What a retraction removes or takes back may be in a file that is not merged. The row then says that
it replaces that. A row that needs no mark says the same by its values: those of a sum, for example.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import Aggregate, Ops
from keyfold.kernels.buffers import validity
from keyfold.kernels.groups.any_of import any_of
from keyfold.kernels.ops import DELETE, RETRACT, SKIP
from keyfold.merge.engine import Folded, MergeStep
from keyfold.merge.marks.mark_columns import Marks


def removed_before(step: MergeStep, folded: Folded, marks: Marks) -> Marks:
    """The marks of rows that replace everything, where a -D among several records removed the row
    and a later one began it anew. A -D that comes last does the same without marks.
    """
    if step.kinds is None or folded.kinds is None:
        return marks
    is_removal = step.kinds == DELETE
    if step.marks is not None:
        is_removal &= ~step.marks.is_marked
    is_removed, is_last = any_of(is_removal[step.order], step.starts), is_removal[step.last]
    marks = marks.everything(is_removed & ~is_last & (np.diff(step.starts) > 1))
    return marks.plain(is_last)


def taken_back(
    step: MergeStep,
    name: str,
    aggregate: Aggregate,
    ops: Callable[[], Ops],
    result: pa.Array,
    marks: Marks,
) -> Marks:
    """The marks of rows, of which one column is NULL though a value was taken back: it replaces
    what is there. If all its records are passed over, the column is not named. `ops` gives the
    operations on the column, in merge order: few columns need them.
    """
    if not aggregate.passes_nulls:
        does = ops() != SKIP
        return marks if does.all() else marks.without(name, ~any_of(does, step.starts))
    if not (aggregate.retracts_alone and result.null_count):
        return marks
    takes = (ops() == RETRACT) & (validity(step.columns[name]) == 1)[step.order]
    return marks.replacing(name, any_of(takes, step.starts) & (validity(result) == 0))
