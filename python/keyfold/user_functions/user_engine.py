"""A user's merge engine: a pick among the rows of a key, as if they were values of a STRUCT.

It sees the columns it declares and keeps whole rows. It takes no -U and -D rows: no file still has
the replaced row that a delete should bring back.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import BadRecord, Inputs
from keyfold.errors import TableError
from keyfold.kernels.buffers import ones
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.ops import ADD
from keyfold.merge.engine import Engine, Fold, Folded, MergeStep
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.results import key_words
from keyfold.options.declared import TableOptions
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.user_functions import shapes
from keyfold.user_functions.fold import Compiled, compile_for, picked, picks
from keyfold.user_functions.shapes import Shape, Slot
from keyfold.user_functions.user_function import UserFunction
from keyfold.wire.layout import TableLayout


def engine(own: UserFunction) -> Engine:
    """The engine, declared as every other."""
    return Engine(
        own.name,
        partial(_check, own),
        partial(_prepare, own),
        partial(definition, own),
        needs=lambda layout, options, output: tuple(own.columns),
        check_kinds=partial(_check_kinds, own),
    )


def _check(own: UserFunction, layout: TableLayout, options: TableOptions) -> None:
    if options.rowkind_field is not None and not options.ignore_delete:
        raise TableError(
            f"table {layout.name}: {own} takes no -U and -D rows, which rowkind.field brings; "
            "set 'ignore-delete' = 'true' to leave them out"
        )
    _compiled(own, layout)


def _check_kinds(
    own: UserFunction, layout: TableLayout, options: TableOptions, kinds: Kinds
) -> None:
    if is_retract(kinds).any():
        raise TableError(
            f"table {layout.name}: {own} takes no -U and -D rows; "
            "set 'ignore-delete' = 'true' to leave them out"
        )


def form_of(own: UserFunction, layout: TableLayout) -> Shape:
    """The shape in which the function sees rows. Raises TableError if a column is missing."""
    slots = []
    for name, kind in own.columns.items():
        wanted = f"table {layout.name}: {own} needs a column {name} {kind}"
        if not layout.has_column(name):
            raise TableError(f"{wanted}; the table has {', '.join(layout.arrow_schema.names)}")
        column = layout.column(name)
        scalar, may_be_null = shapes.of_column(kind)
        is_null_refused = column.type.nullable and not may_be_null
        if is_null_refused or not scalar.test(arrow_types.to_arrow(column.type)):
            raise TableError(f"{wanted}, found {logical.describe(column.type)}")
        slots.append(Slot(name, scalar.kind, column.type.nullable))
    return Shape(tuple(slots), True)


def _compiled(own: UserFunction, layout: TableLayout) -> Compiled:
    return compile_for(own, form_of(own, layout), f"table {layout.name}: ")


def _prepare(
    own: UserFunction, layout: TableLayout, options: TableOptions, output: Sequence[str]
) -> Fold:
    return partial(_fold, _compiled(own, layout), layout, options, tuple(output))


def _fold(
    made: Compiled,
    layout: TableLayout,
    options: TableOptions,
    output: Sequence[str],
    step: MergeStep,
    drops_deletes: bool,
) -> Folded:
    if step.kinds is not None:
        _check_kinds(made.of, layout, options, step.kinds)
    columns = [step.columns[name] for name in made.form.names]
    seen = pa.StructArray.from_arrays(columns, names=made.form.names)
    ops = ones(len(step.order)).view(np.int8)
    try:
        rows = picks(made, Inputs(seen, ops, step.order, step.starts))
    except BadRecord as error:
        key = key_words(layout, step.columns, int(step.last[error.group]))
        raise TableError(f"table {layout.name}, key ({key}): {error}") from error.__cause__
    arrow = indices(rows)
    kinds = None if step.kinds is None else step.kinds[rows]
    return Folded([take(step.columns[name], arrow) for name in output], kinds, step.last)


def definition(
    own: UserFunction,
    layout: TableLayout,
    options: TableOptions,
    records: Sequence[tuple[int, dict[str, Any]]],
) -> tuple[int, dict[str, Any]] | None:
    """The row that no later one replaced."""
    place = picked(own, form_of(own, layout), [(ADD, row) for _, row in records])
    return None if place is None else records[place]


assert ADD == 1  # the meaning of the shared array of ones as ops
