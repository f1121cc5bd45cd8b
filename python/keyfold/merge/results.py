"""Results of a column in a merge, and their errors, which name table, column and key."""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import (
    Aggregate,
    BadRecord,
    Inputs,
    Ops,
)
from keyfold.aggregates.group_totals import Overflow, Signed
from keyfold.aggregates.results import column_result
from keyfold.errors import FoldOverflowError, TableError
from keyfold.kernels.buffers import validity
from keyfold.kernels.folds.running import Numbers
from keyfold.merge.column_aggregate import wider
from keyfold.merge.engine import Folded, MergeStep
from keyfold.merge.kinds import is_retract
from keyfold.types import java_text
from keyfold.wire.layout import TableLayout


def folded_column(
    layout: TableLayout, step: MergeStep, name: str, aggregate: Aggregate, inputs: Inputs
) -> pa.Array:
    """The folded column of one step; errors name table, column and key.

    Raises FoldOverflowError if a value does not fit the type. Raises TableError if the aggregate
    can't fold a record. The groups of `inputs` are those of the step.
    """
    try:
        result = column_result(aggregate, inputs)
    except BadRecord as error:
        where = f"table {layout.name}, column {name}, key ({_key(layout, step, error.group)})"
        raise TableError(f"{where}: {error}") from error
    if result.overflowed >= 0:
        raise _overflow(layout, step, name, aggregate, result.overflowed)
    return result.array


def added_column(
    layout: TableLayout,
    step: MergeStep,
    name: str,
    aggregate: Aggregate,
    number: Callable[[], Numbers | None],
    room: int,
    signs: Ops | None = None,
) -> pa.Array | None:
    """The folded column of a step, if that can be done row by row, in any order of groups; else
    None. Groups of few rows would end where no processor expects it. `number` gives the group of
    each row, of which there are `room`: those of no row behind all others. `signs` are the
    operations by row: rows are added or taken back; None if all are added.

    Raises FoldOverflowError if a value does not fit the type.
    """
    if aggregate.running is None or aggregate.over_records is None:
        return None
    parts, numbers = step.columns.parts(name), number()
    groups = None if numbers is None else aggregate.running(parts[0].type)
    if numbers is None or groups is None or not (signs is None or isinstance(groups, Signed)):
        return None
    start, count = 0, len(step.starts) - 1
    groups.make_room(room)
    for part in parts:
        stop = start + len(part)
        if signs is None:
            groups.add(numbers[start:stop], part)
        elif isinstance(groups, Signed):
            groups.add_signed(numbers[start:stop], signs[start:stop], part)
        start = stop
    try:
        return groups.column(0, count)
    except Overflow as error:
        raise _overflow(layout, step, name, aggregate, error.group) from error


def _overflow(
    layout: TableLayout, step: MergeStep, name: str, aggregate: Aggregate, group: int
) -> FoldOverflowError:
    key = _key(layout, step, group)
    return FoldOverflowError(
        f"table {layout.name}, column {name}: the {aggregate.name} for key ({key}) "
        f"{wider(layout.name, layout.column(name))}"
    )


def _key(layout: TableLayout, step: MergeStep, group: int) -> str:
    return key_words(layout, step.columns, int(step.last[group]))


def key_words(layout: TableLayout, columns: Mapping[str, pa.Array], row: int) -> str:
    """The key of a row, for an error."""
    return ", ".join(f"{name} = {java_text.shown(columns[name][row])}" for name in layout.key)


def check_not_null(layout: TableLayout, schema: pa.Schema, step: MergeStep, folded: Folded) -> None:
    """Raises TableError, with column and key, if a row that is not a delete has NULL in a NOT NULL
    column. A retraction may leave that NULL, or a record without a sequence.
    """
    for array, field in zip(folded.arrays, schema, strict=True):
        if field.nullable or not array.null_count:
            continue
        missing = validity(array) == 0
        if folded.kinds is not None:
            missing &= ~is_retract(folded.kinds)
        groups = np.flatnonzero(missing)
        if len(groups):
            key = key_words(layout, step.columns, int(folded.last[groups[0]]))
            raise TableError(
                f"table {layout.name}, column {field.name}, key ({key}): merging left NULL in "
                "a NOT NULL column: a retraction took its value back, or no record of its sequence "
                "group had a sequence; make the column nullable, or see ignore-delete and "
                f"fields.{field.name}.ignore-retract"
            )


def check_unique(layout: TableLayout, step: MergeStep, *, counts_deletes: bool = False) -> None:
    """Raises TableError, with the key, if a key has two records that are not deletes, or that may
    be if `counts_deletes`.
    """
    if len(step.starts) - 1 == len(step.order):
        return
    adds = np.ones(len(step.order), bool)
    if step.kinds is not None and not counts_deletes:
        adds = ~is_retract(step.kinds)
    counts = np.add.reduceat(adds[step.order].astype(np.int64), step.starts[:-1])
    groups = np.flatnonzero(counts > 1)
    if len(groups):
        raise TableError(
            f"table {layout.name}: the statement writes key ({_key(layout, step, groups[0])}) "
            f"{counts[groups[0]]} times (MERGE_CARDINALITY_VIOLATION): one row of the source may "
            "write a key; leave out the others, or aggregate them before"
        )
