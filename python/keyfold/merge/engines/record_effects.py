"""The effects of records under aggregation, of which some take back: decided in one walk over them.

A walk tells what each record does, which keys leave no row, and the group of each record, so that
functions which add row by row do so here too, and no column of a row that is dropped is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from keyfold.aggregates.declaration import Ops
from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Rows, Signs, ones
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.ops import ADD, DELETE, INSERT, RESET, RETRACT, SKIP
from keyfold.lazy import cached_property
from keyfold.merge.engine import MergeStep
from keyfold.merge.kinds import Kinds, is_retract

_TAKES_BACK = 1  # the bit of the kinds of retractions


@structure("int8[::1]", "int64[::1]", "int64[::1]", "int8[::1]", "int32[::1]", "int8[::1]")
class Decided(NamedTuple):
    """The records that stay, as `Groups` has them; the kind of each group's row; and of each row
    its group and its operation. Rows that do nothing are in a group behind all others.
    """

    ops: Signs
    order: Rows
    starts: Rows
    kinds: Signs
    numbers: Numbers
    signs: Signs


@kernel("Tuple((int64, int64, boolean))(Groups, boolean, boolean, Decided)")
def decide_records(
    records: Groups, removes: bool, drops: bool, out: Decided
) -> tuple[int, int, bool]:
    """Write what records of a kind by row do. A record that is alone is added. With `removes` a -D
    begins anew. With `drops` keys without a row are left out: lone retractions, removed rows.
    Returns how many groups and records stay, and whether the rows of each group ascend.
    """
    (kinds, order, starts), (ops, left, ends, results, numbers, signs) = records, out
    g, group, place, last, ascends, none = 0, 0, 0, -1, True, len(starts) - 1
    for at in range(len(order)):  # no branch depends on data
        g += at == starts[g + 1]
        row, stop = order[at], starts[g + 1]
        kind, is_alone = kinds[row], stop - starts[g] == 1
        takes_back, is_delete = (kind & _TAKES_BACK) != 0, kind == DELETE
        is_removed = (kinds[order[stop - 1]] == DELETE) & removes & (not is_alone)
        is_dropped = (is_removed | (is_alone & takes_back)) & drops
        op = RETRACT if takes_back else ADD
        op = RESET if is_delete & removes else op
        op = ADD if is_alone else op
        result = DELETE if is_removed else INSERT
        ops[place], left[place], signs[row] = op, row, op
        results[group] = kind if is_alone else result
        numbers[row] = none if is_dropped else group
        ascends &= (row > last) | (at == starts[g])
        last = row
        place += not is_dropped
        ends[group + 1] = place
        group += (at + 1 == stop) & (not is_dropped)
    return group, place, ascends


@kernel("void(Groups, int64, int32[::1])")
def leave_out(records: Groups, none: int, numbers: Numbers) -> None:
    """Put the rows before the last reset of each group into group `none`."""
    (ops, order, starts), g, is_over = records, len(records.starts) - 2, False
    for i in range(len(order)):
        at = len(order) - 1 - i
        is_next = at < starts[g]
        g -= is_next
        is_over &= not is_next
        row = order[at]
        numbers[row] = none if is_over else numbers[row]
        is_over |= ops[at] == RESET


@dataclass(frozen=True)
class Effects:
    """The operations of a step's records, in merge order, and the kinds of the results. `numbers`
    are the groups of all rows, `room` or more groups in all, None if rows of a group do not ascend.
    `signs` are the operations by row, None if all that count are added. With `only_adds` all rows
    are.
    """

    step: MergeStep
    ops: Ops
    kinds: Kinds | None
    numbers: Callable[[], Numbers | None]
    room: int
    signs: Signs | None = None
    only_adds: bool = False

    @cached_property
    def without_retracts(self) -> Effects:
        """The effects on a column that ignores what is taken back."""
        if self.signs is None:
            return self
        numbers = self.numbers()
        if numbers is not None:
            numbers = np.where(self.signs == RETRACT, np.int32(self.room - 1), numbers)
        ops = np.where(self.ops == RETRACT, np.int8(SKIP), self.ops)
        return replace(self, ops=ops, numbers=lambda: numbers, signs=None)


def effects_of(step: MergeStep, *, removes: bool, drops: bool) -> Effects:
    """The effects of records on the columns of their keys. The step is without the keys that leave
    no row, with `drops`.
    """
    count, rows = len(step.starts) - 1, step.columns.num_rows
    if step.kinds is None or not is_retract(step.kinds).any():
        ops, room = ones(len(step.order)).view(np.int8), count + (len(step.order) < rows)
        return Effects(step, ops, _kinds(step), lambda: step.numbers, room, only_adds=room == count)
    out = Decided(
        np.empty(len(step.order), dtype=np.int8),
        np.empty(len(step.order), dtype=np.int64),
        np.zeros(count + 1, dtype=np.int64),
        np.empty(count, dtype=np.int8),
        np.full(rows, count, dtype=np.int32),
        np.zeros(rows, dtype=np.int8),
    )
    records = Groups(step.kinds, step.order, step.starts)
    groups, places, ascends = decide_records(records, removes, drops, out)
    left = replace(step, order=out.order[:places], starts=out.starts[: groups + 1])
    ops, kinds = out.ops[:places], out.kinds[:groups]
    if removes:
        leave_out(Groups(ops, left.order, left.starts), count, out.numbers)
    numbers = out.numbers if ascends else None
    signs = out.signs if (ops == RETRACT).any() else None
    return Effects(left, ops, kinds, lambda: numbers, count + 1, signs)


def _kinds(step: MergeStep) -> Kinds | None:
    """The kinds of rows that no record takes back; a lone record keeps its own."""
    if step.kinds is None:
        return None
    return np.where(np.diff(step.starts) == 1, step.kinds[step.last], np.int8(INSERT))
