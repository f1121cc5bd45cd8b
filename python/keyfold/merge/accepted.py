"""Which rows of a write a table takes, by their kind: some are dropped, some refused."""

import numpy as np

from keyfold.errors import TableError
from keyfold.kernels.buffers import Rows
from keyfold.merge.kinds import DELETE, UPDATE_BEFORE, Kinds, is_retract
from keyfold.merge.plan import MergePlan


def accepted(plan: MergePlan, kinds: Kinds | None, length: int) -> Rows:
    """Rows that stay, without those `ignore-delete` and `ignore-update-before` drop; TableError for
    a kind that the table, or its engine, refuses.
    """
    options = plan.options
    if kinds is None:
        return np.arange(length, dtype=np.int64)
    if options.delete_behavior == "disable" and (kinds == DELETE).any():
        raise TableError(
            f"table {plan.layout.name}: Delete operations are disabled for this table. "
            "The table.delete.behavior is set to 'disable'."
        )
    if options.ignore_delete:
        rows = np.flatnonzero(~is_retract(kinds))
    elif options.ignore_update_before:
        rows = np.flatnonzero(kinds != UPDATE_BEFORE)
    else:
        rows = np.arange(length, dtype=np.int64)
    plan.check_kinds(plan.layout, options, kinds[rows])
    return rows
