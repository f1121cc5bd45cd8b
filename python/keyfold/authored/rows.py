"""A user's merge engine: of two rows of a key, whether the newer one takes the older one's place.

It sees the columns it declares and keeps whole rows. It takes no -U and -D rows: what of a row that
was already replaced a delete should bring back, no file knows any more.
"""

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from keyfold.aggregates.declare import BadRecord
from keyfold.authored import failing, shapes
from keyfold.authored.function import Function
from keyfold.errors import FunctionError, TableError
from keyfold.kernels import loops
from keyfold.kernels.buffers import Rows, ones
from keyfold.kernels.cloned import plain
from keyfold.kernels.generated import CompileError, compiled
from keyfold.kernels.loops import Shape, Slot
from keyfold.kernels.ops import ADD
from keyfold.merge.columns import indices, take
from keyfold.merge.declare import Engine, Fold, Folded, Step
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.results import key_words
from keyfold.options import TableOptions
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.wire.layout import TableLayout


@dataclass(frozen=True)
class _Plan:
    of: Function
    layout: TableLayout
    options: TableOptions
    form: Shape
    output: tuple[str, ...]
    loop: Any


def engine(own: Function) -> Engine:
    """The engine as every other is declared."""
    return Engine(
        own.name,
        partial(_check, own),
        partial(_prepare, own),
        partial(definition, own),
        needs=lambda layout, options, output: tuple(own.columns),
        check_kinds=partial(_check_kinds, own),
    )


def _check(own: Function, layout: TableLayout, options: TableOptions) -> None:
    if options.rowkind_field is not None and not options.ignore_delete:
        raise TableError(
            f"table {layout.name}: {own} takes no -U and -D rows, which rowkind.field brings; "
            "set 'ignore-delete' = 'true' to leave them out"
        )
    _compiled(own, layout, form_of(own, layout))


def _check_kinds(own: Function, layout: TableLayout, options: TableOptions, kinds: Kinds) -> None:
    if is_retract(kinds).any():
        raise TableError(
            f"table {layout.name}: {own} takes no -U and -D rows; "
            "set 'ignore-delete' = 'true' to leave them out"
        )


def form_of(own: Function, layout: TableLayout) -> Shape:
    """What the function sees of the rows of a table; TableError where it lacks a column."""
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


def _compiled(own: Function, layout: TableLayout, form: Shape) -> Any:
    try:
        return compiled(loops.pick(form, own.function))
    except CompileError as error:
        raise FunctionError(f"table {layout.name}: {own}: {error}") from error


def _prepare(
    own: Function, layout: TableLayout, options: TableOptions, output: Sequence[str]
) -> Fold:
    form = form_of(own, layout)
    loop = _compiled(own, layout, form)
    return partial(_fold, _Plan(own, layout, options, form, tuple(output), loop))


def _fold(plan: _Plan, step: Step, drops_deletes: bool) -> Folded:
    if step.kinds is not None:
        _check_kinds(plan.of, plan.layout, plan.options, step.kinds)
    picked = _picks(plan, step)
    arrow = indices(picked)
    kinds = None if step.kinds is None else step.kinds[picked]
    return Folded([take(step.columns[name], arrow) for name in plan.output], kinds, step.last)


def _picks(plan: _Plan, step: Step) -> Rows:
    columns = [step.columns[name] for name in plan.form.names]
    slots = loops.inputs(plan.form.slots, columns)
    rows = len(columns[0])
    valid, ops = ones(rows), ones(len(step.order)).view(np.int8)
    out = np.empty(len(step.starts) - 1, dtype=np.int64)

    def run(first: int, stop: int) -> None:
        starts = step.starts[first : stop + 1]
        plan.loop(*slots, valid, ops, step.order, starts, out[first:stop])

    def replay(group: int) -> object:
        places = step.order[step.starts[group] : step.starts[group + 1]].tolist()
        cells = [[step.columns[name][row].as_py() for name in plan.form.names] for row in places]
        return kept(plan.of, [dict(zip(plan.form.names, row, strict=True)) for row in cells])

    try:
        with failing.explained(plan.of, len(out), run, replay):
            run(0, len(out))
    except BadRecord as error:
        key = key_words(plan.layout, step.columns, int(step.last[error.group]))
        raise TableError(f"table {plan.layout.name}, key ({key}): {error}") from error.__cause__
    return out


def kept(own: Function, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row that no later one replaced, by the plain Python function."""
    step, row_of = plain(own.function), namedtuple("Row", own.columns)
    best = rows[0]
    for row in rows[1:]:
        seen = [[shapes.seen_alone(r[name]) for name in own.columns] for r in (best, row)]
        pair = [row_of(*values) for values in seen]
        with failing.at(own, *pair):
            best = row if step(*pair) else best
    return best


def definition(
    own: Function,
    layout: TableLayout,
    options: TableOptions,
    records: Sequence[tuple[int, dict[str, Any]]],
) -> tuple[int, dict[str, Any]] | None:
    """The row that no later one replaced."""
    best = kept(own, [row for _, row in records])
    return next(record for record in records if record[1] is best)


assert ADD == 1  # what the shared array of ones means as ops
