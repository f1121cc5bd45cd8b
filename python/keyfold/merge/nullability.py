"""NOT NULL columns of merged rows: a merge that leaves NULL in one fails instead of storing it."""

import numpy as np

from keyfold.errors import TableError
from keyfold.kernels.buffers import validity
from keyfold.merge.declare import Folded, Step
from keyfold.merge.kinds import is_retract
from keyfold.merge.plan import MergePlan
from keyfold.merge.results import key_words


def check_not_null(plan: MergePlan, step: Step, folded: Folded) -> None:
    """TableError naming column and key where a row that is no delete has a NULL it can't have: one
    that a retraction left, or a record without a sequence.
    """
    for array, field in zip(folded.arrays, plan.schema, strict=True):
        if field.nullable or not array.null_count:
            continue
        missing = validity(array) == 0
        if folded.kinds is not None:
            missing &= ~is_retract(folded.kinds)
        groups = np.flatnonzero(missing)
        if len(groups):
            key = key_words(plan.layout, step.columns, int(folded.last[groups[0]]))
            raise TableError(
                f"table {plan.layout.name}, column {field.name}, key ({key}): merging left NULL in "
                "a NOT NULL column: a retraction took its value back, or no record of its sequence "
                "group had a sequence; make the column nullable, or see ignore-delete and "
                f"fields.{field.name}.ignore-retract"
            )
