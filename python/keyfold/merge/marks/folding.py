"""Folding records with marks: which columns are passed over or start again, and which rows exist.

Records before one that overwrites everything, or before a delete, leave the step here, so engines
don't see them. Engines learn from `marks.mark_effects` which columns a row touches.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Mask, Rows, ones, validity
from keyfold.kernels.groups.any_of import any_of
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import DELETE, INSERT, SKIP
from keyfold.merge.engine import Folded, MergeStep, filtered, picked, shown
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.marks.mark_columns import Flags, Marks, unmarked
from keyfold.merge.marks.mark_effects import column_ops
from keyfold.merge.plan import MergePlan
from keyfold.merge.sequence import sort_by_fields


def fold_marked(
    plan: MergePlan, step: MergeStep, *, has_oldest: bool, drop_deletes: bool
) -> Folded:
    """One row per group, with its marks. Rows are in merge order, or in order of arrival if some
    replace everything.

    With `has_oldest` nothing older is elsewhere, so it is known which rows exist.
    """
    marks = step.marks or unmarked(plan.bits, len(step.columns[plan.key[0]]))
    pending = None if step.kinds is None else marks.is_pending(step.kinds)
    pending = None if pending is None or not pending.any() else pending
    step, was_cut = _cut(step, marks.is_whole)
    if marks.has_whole:
        sort_by_fields(plan, step.columns, step.order, step.starts)
        step = _late_records_fold(plan, step, marks)
    step, is_cleared = _cut(step, _clearing(plan, step.kinds, marks))
    record = step
    # Engines see no delete of some columns: the marks give its effect on each.
    if step.kinds is not None and pending is not None:
        step = replace(step, kinds=np.where(pending, np.int8(INSERT), step.kinds))
    # A reader's rows need no marks, unless it matters that a column was never named.
    is_shown = has_oldest and drop_deletes and not plan.retaining
    if is_shown and marks.are_whole and not plan.engine.sequences(plan.options):
        step = replace(step, marks=None)  # what they replace has left the step
    whole = _folded(plan, step, drops_deletes=is_shown and pending is None)
    arrays, kinds, last = whole.arrays, whole.kinds, whole.last
    result = None
    if not is_shown:
        result = _result_marks(plan, record, step, whole, marks, was_cut | is_cleared)
    if kinds is not None and pending is not None:
        kinds = np.where(pending[last], np.int8(DELETE), kinds)
        known = True if result is None else has_oldest | result.is_whole
        kinds = decided(plan, arrays, kinds, pending[last] & known)
    folded = Folded(arrays, kinds, last, result)
    if is_shown:
        return shown(folded)
    return settled(plan, folded, drop_deletes) if has_oldest else folded


def _result_marks(
    plan: MergePlan, record: MergeStep, step: MergeStep, whole: Folded, marks: Marks, is_cut: Flags
) -> Marks:
    """The marks of the row of each group; `record` is the step with the kinds that were written."""
    has_marks = step.marks is not None
    united = marks.united(step.order, step.starts) if has_marks else marks.take(step.last)
    united = united.everything(is_cut)
    for name in plan.retaining:
        united = united.without(name, ~_has_op(record, name))
    for name, is_touched in plan.engine.touched(plan.layout, plan.options, step).items():
        united = united.without(name, ~is_touched)
    if len(whole.last) < len(is_cut):  # an engine left some keys out
        group_of = np.empty(len(marks), dtype=np.int64)
        group_of[step.order] = np.repeat(np.arange(len(is_cut)), np.diff(step.starts))
        united = united.take(group_of[whole.last])
    return plan.part_marks(step, whole, united)


def _late_records_fold(plan: MergePlan, step: MergeStep, marks: Marks) -> MergeStep:
    """The step. With a `sequence.field` its overwriting rows replace nothing any more: all records
    that came before them are gone, and a later record may sort before them.
    """
    if not plan.options.sequence_fields:
        return step
    adds = True if step.kinds is None else ~is_retract(step.kinds)
    return replace(step, marks=marks.replacing_nothing(marks.is_whole & adds))


def _clearing(plan: MergePlan, kinds: Kinds | None, marks: Marks) -> Flags:
    """Whether each row is an ordinary delete that leaves nothing of earlier records: not where a
    sequence orders records that are kept as they are, as a late one would come first.
    """
    options = plan.options
    begins_anew = options.partial_insert and not options.sequence_fields
    clears = plan.engine.deletes_clear(options) and (begins_anew or not plan.keeps_records)
    if kinds is None or not clears:
        return np.zeros(len(marks), dtype=np.bool_)
    return is_retract(kinds) & ~marks.is_marked


@kernel("int64(uint8[::1], uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1], uint8[::1])")
def cut_groups(
    cuts: Mask, leaves: Mask, order: Rows, starts: Rows, left: Rows, firsts: Rows, was_cut: Mask
) -> int:
    """Write the records of each group from its last cutting one on to the end of `left`, and where
    they begin there; the cutting one not if it `leaves` and others come behind it. Flags the groups
    that have one, and returns where the first begins. `left` has one place more than `order`.
    """
    g, place, is_over = len(starts) - 2, len(left), False
    firsts[len(starts) - 1] = place
    for i in range(len(order)):  # no branch depends on data
        at = len(order) - 1 - i
        is_next = at < starts[g]
        g -= is_next
        is_over &= not is_next
        row, is_last = order[at], at + 1 == starts[g + 1]
        is_cut = cuts[row] != 0
        stays = (not is_over) & (is_last | (not (is_cut & (leaves[row] != 0))))
        left[place - 1] = row
        place -= stays
        is_over |= is_cut
        firsts[g], was_cut[g] = place, is_over
    return place


def _cut(step: MergeStep, cuts: Flags) -> tuple[MergeStep, Flags]:
    """The step from the last cutting row of each group on, and whether there is one.

    A delete that cuts is left out itself, unless it comes last.
    """
    was_cut = np.zeros(len(step.starts) - 1, dtype=np.bool_)
    if not cuts.any():
        return step, was_cut
    leaves = np.zeros_like(cuts) if step.kinds is None else is_retract(step.kinds)
    left, firsts = np.empty(len(step.order) + 1, dtype=np.int64), np.empty_like(step.starts)
    flags, found = np.stack((cuts, leaves)).view(np.uint8), was_cut.view(np.uint8)
    place = cut_groups(flags[0], flags[1], step.order, step.starts, left, firsts, found)
    return replace(step, order=left[place:], starts=firsts - place), was_cut


def _has_op(step: MergeStep, name: str) -> Flags:
    """For each group, whether the column got a value, even NULL, since it was last replaced."""
    ops = column_ops(step, name, ones(len(step.order)).view(np.int8))
    return any_of(ops != SKIP, step.starts)


def _folded(plan: MergePlan, step: MergeStep, *, drops_deletes: bool) -> Folded:
    if len(step.starts) - 1 < len(step.order):
        return plan.fold(step, drops_deletes)
    return picked(step, plan.output, step.order, drops_deletes)


def decided(plan: MergePlan, arrays: list[pa.Array], kinds: Kinds, pending: Flags) -> Kinds:
    """The kinds once all records below are known. The flagged rows are deletes of some columns:
    each leaves a row if another column has a value.
    """
    if not pending.any():
        return kinds
    return np.where(pending & _has_value(plan, arrays), np.int8(INSERT), kinds)


def settled(plan: MergePlan, folded: Folded, drop_deletes: bool) -> Folded:
    """Rows that have nothing older below them, without deletes if asked. Only one part of their
    marks still matters: the named columns that retain NULL. Where records fold, deletes with marks
    have ended: nothing of them folds with a later one.
    """
    marks, kinds = folded.marks, folded.kinds
    assert marks is not None
    found = replace(folded, marks=marks.naming(plan.retaining))
    if drop_deletes or kinds is None or plan.keeps_records:
        return shown(found) if drop_deletes else found
    return filtered(found, ~(is_retract(kinds) & marks.is_marked))


def _has_value(plan: MergePlan, arrays: list[pa.Array]) -> Flags:
    """Whether a column outside the key, other than the one of row kinds, is not NULL."""
    found: Mapping[str, pa.Array] = dict(zip(plan.output, arrays, strict=True))
    flags = np.zeros(len(arrays[0]), dtype=np.bool_)
    for name in plan.bits.names:
        if name != plan.options.rowkind_field:
            flags |= validity(found[name]).view(np.bool_)
    return flags
