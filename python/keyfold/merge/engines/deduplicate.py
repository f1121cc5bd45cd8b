"""deduplicate: the last record of a key in merge order stays, with its kind and its nulls."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from keyfold.kernels.buffers import Rows, Signs
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADDITIONS, RETRACTIONS
from keyfold.merge.engine import Engine, Fold, Folded, MergeStep, picked, without
from keyfold.merge.kinds import is_retract
from keyfold.merge.marks.mark_columns import Flags, Marks
from keyfold.options.declared import TableOptions
from keyfold.wire.layout import TableLayout


@kernel("void(int8[::1], int64[::1], int64[::1], int64[::1])")
def last_added(kinds: Signs, order: Rows, starts: Rows, out: Rows) -> None:
    """out[g] is the last row of group g that is not a -U or -D, or -1. A group of one keeps its
    row.
    """
    for g in range(len(out)):
        at = starts[g + 1] - 1
        if at > starts[g]:
            while at >= starts[g] and kinds[order[at]] in RETRACTIONS:
                at -= 1
        out[g] = order[at] if at >= starts[g] else -1


def _winners(step: MergeStep, ignores_deletes: bool) -> Rows:
    if not ignores_deletes or step.kinds is None:
        return step.last
    picks = np.empty(len(step.starts) - 1, dtype=np.int64)
    last_added(step.kinds, step.order, step.starts, picks)
    return picks[picks >= 0]


def _fold(
    output: Sequence[str], ignores_deletes: bool, step: MergeStep, drops_deletes: bool
) -> Folded:
    if step.marks is not None:
        return _fold_by_column(output, ignores_deletes, step, step.marks)
    return picked(step, output, _winners(step, ignores_deletes), drops_deletes)


def _fold_by_column(
    output: Sequence[str], ignores_deletes: bool, step: MergeStep, marks: Marks
) -> Folded:
    """Each column is from the last row that names it, the kind from the last row; deletes stay."""
    if ignores_deletes and step.kinds is not None:
        step = without(step, is_retract(step.kinds) & ~marks.is_marked)
    arrays = []
    for name in output:
        picks = _last_of(step, marks.names(name) | marks.replaces(name))
        arrays += step.columns.taken([name], picks)
    kinds = None if step.kinds is None else step.kinds[step.last]
    return Folded(arrays, kinds, step.last)


def _last_of(step: MergeStep, flags: Flags) -> Rows:
    """The last flagged row of each group, -1 if no row is flagged."""
    at = np.where(flags[step.order], np.arange(len(step.order)), -1)
    last = np.maximum.reduceat(at, step.starts[:-1])
    picks: Rows = np.where(last < 0, -1, step.order[last])
    return picks


def _prepare(layout: TableLayout, options: TableOptions, output: Sequence[str]) -> Fold:
    return partial(_fold, tuple(output), options.ignore_delete)


def _check(layout: TableLayout, options: TableOptions) -> None:
    """Accept any layout: aggregate functions are passed over, as in Paimon."""


def definition(
    layout: TableLayout, options: TableOptions, records: Sequence[tuple[int, dict[str, Any]]]
) -> tuple[int, dict[str, Any]] | None:
    """The last record; with ignore-delete the last that is not a -U or -D."""
    if len(records) > 1 and options.ignore_delete:
        records = [record for record in records if record[0] in ADDITIONS]
    return records[-1] if records else None


DEDUPLICATE = Engine(
    "deduplicate",
    _check,
    _prepare,
    definition,
    keeps_keys=True,
    is_default=True,
    keeps_records=True,
    takes_partial_writes=True,
    elsewhere={"Fluss": ("versioned",), "Doris": ("UNIQUE", "PRIMARY")},
    fluss_deletes={},
    aliases={"deduplicate.ignore-delete": "ignore-delete"},
    summary="the last row, whole",
    nulls="stay",
    retraction="hide the row, if they come last",
    deletes_remove=lambda options: True,
    deletes_clear=lambda options: not options.ignore_delete,
    keeps_deletes=lambda options: bool(options.sequence_fields),
    keeps_last=lambda options: not options.ignore_delete and not options.sequence_fields,
)
