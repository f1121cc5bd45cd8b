"""Which rows of a write a table takes, by their kind: some are dropped, some refused."""

import numpy as np

from keyfold.errors import TableError
from keyfold.kernels.buffers import Rows
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_BEFORE
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.marks.records import Marks
from keyfold.merge.plan import MergePlan
from keyfold.options import TableOptions


def accepted(plan: MergePlan, kinds: Kinds | None, length: int, marks: Marks | None = None) -> Rows:
    """Rows that stay, without those `ignore-delete` and `ignore-update-before` drop; TableError for
    a kind that the table, or its engine, refuses. A -D that overwrites is taken in any case.
    """
    options = plan.options
    if kinds is None:
        return np.arange(length, dtype=np.int64)
    if marks is not None:
        kinds = np.where(marks.is_marked, np.int8(INSERT), kinds)
    check_deletes(plan.layout.name, options, kinds)
    if options.ignore_delete:
        rows = np.flatnonzero(~is_retract(kinds))
    elif options.ignore_update_before:
        rows = np.flatnonzero(kinds != UPDATE_BEFORE)
    else:
        rows = np.arange(length, dtype=np.int64)
    plan.check_kinds(kinds[rows])
    return rows


def check_deletes(table: str, options: TableOptions, kinds: Kinds) -> None:
    """TableError for a -D where the table has them disabled."""
    if options.delete_behavior == "disable" and (kinds == DELETE).any():
        raise TableError(
            f"table {table}: Delete operations are disabled for this table. "
            "The table.delete.behavior is set to 'disable'."
        )
