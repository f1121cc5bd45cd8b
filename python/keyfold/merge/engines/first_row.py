"""first-row: the first record of a key in merge order stays, with its nulls.

Retractions are refused unless `ignore-delete`, or `ignore-update-before` for -U, drops them.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from keyfold.errors import TableError
from keyfold.kernels.buffers import Rows
from keyfold.kernels.ops import RETRACTIONS, UPDATE_BEFORE
from keyfold.merge.engine import Engine, Fold, Folded, MergeStep, picked, without
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.options.declared import TableOptions
from keyfold.wire.layout import TableLayout

_REFUSED = (
    "By default, First row merge engine can not accept DELETE/UPDATE_BEFORE records.\n"
    "You can config 'ignore-delete' to ignore the DELETE/UPDATE_BEFORE records."
)


def _check_kinds(layout: TableLayout, options: TableOptions, kinds: Kinds) -> None:
    if is_retract(kinds).any():
        raise TableError(f"table {layout.name}: {_REFUSED}")


def _accepted(layout: TableLayout, options: TableOptions, step: MergeStep) -> MergeStep:
    """The step without ignored records of files older than the option; a lone record stays."""
    if step.kinds is None or not is_retract(step.kinds).any():
        return step
    if options.ignore_delete:
        return without(step, is_retract(step.kinds))
    if options.ignore_update_before:
        step = without(step, step.kinds == UPDATE_BEFORE)
    assert step.kinds is not None
    _check_kinds(layout, options, step.kinds[_of_several(step)])
    return step


def _of_several(step: MergeStep) -> Rows:
    """The rows of keys with two records or more."""
    sizes = np.diff(step.starts)
    rows: Rows = step.order[np.repeat(sizes > 1, sizes)]
    return rows


def _fold(
    layout: TableLayout,
    options: TableOptions,
    output: Sequence[str],
    step: MergeStep,
    drops_deletes: bool,
) -> Folded:
    step = _accepted(layout, options, step)
    return picked(step, output, step.order[step.starts[:-1]], drops_deletes)


def _prepare(layout: TableLayout, options: TableOptions, output: Sequence[str]) -> Fold:
    return partial(_fold, layout, options, tuple(output))


def _refuses(layout: TableLayout) -> None:
    """Raises TableError, in Paimon's words, if an option does not go with this engine there."""
    if layout.options.get("deletion-vectors.enabled", "false").strip().lower() != "false":
        raise TableError(
            f"option deletion-vectors.enabled of table {layout.name}: First row merge engine does "
            "not need deletion vectors because there is no deletion of old data in this merge "
            "engine."
        )
    producer = layout.options.get("changelog-producer", "none").strip().lower()
    if producer not in ("none", "lookup"):
        raise TableError(
            f"option changelog-producer of table {layout.name}: Only support 'none' and 'lookup' "
            f"changelog-producer on FIRST_ROW merge engine, found '{producer}'"
        )


def _check(layout: TableLayout, options: TableOptions) -> None:
    if options.sequence_fields:
        raise TableError(
            f"table {layout.name}, option sequence.field: Do not support use sequence field on "
            "FIRST_ROW merge engine."
        )


def definition(
    layout: TableLayout, options: TableOptions, records: Sequence[tuple[int, dict[str, Any]]]
) -> tuple[int, dict[str, Any]] | None:
    """The first record that is not ignored; raises TableError if a retraction is left."""
    ignored = {UPDATE_BEFORE} if options.ignore_update_before else set()
    if options.ignore_delete:
        ignored = set(RETRACTIONS)
    if len(records) > 1:
        records = [record for record in records if record[0] not in ignored]
    if len(records) > 1 and any(kind in RETRACTIONS for kind, _ in records):
        raise TableError(f"table {layout.name}: {_REFUSED}")
    return records[0] if records else None


FIRST_ROW = Engine(
    "first-row",
    _check,
    _prepare,
    definition,
    keeps_keys=True,
    keeps_records=True,
    keeps_oldest=True,
    hides_level_0=True,
    elsewhere={"Fluss": ("first_row",)},
    aliases={"first-row.ignore-delete": "ignore-delete"},
    refuses=_refuses,
    check_kinds=_check_kinds,
    summary="the first row, whole",
    nulls="stay",
    retraction="refused",
)
