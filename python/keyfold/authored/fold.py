"""A user's fold or pick as the aggregate of one column: its compiled form and definition."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declare import Fold, FoldResult, Inputs, Pick, Records, Settings
from keyfold.authored import failing, loop, shapes
from keyfold.authored.compiled import compiled
from keyfold.authored.function import Function, plain
from keyfold.authored.shapes import Shape
from keyfold.kernels.buffers import Rows
from keyfold.kernels.ops import RESET, RETRACT, SKIP
from keyfold.types import arrow as arrow_types
from keyfold.types import logical


@dataclass(frozen=True)
class Compiled:
    """A fold, pick or engine compiled for the shape of a column, or of the rows of a table."""

    of: Function
    form: Shape
    loop: Any


def compile_for(own: Function, form: Shape, where: str = "") -> Compiled:
    """The compiled form. Raises FunctionError, with file and line, if it does not compile."""
    if own.form == "fold":
        functions = {"step": own.function, "retract": own.retract}
        called = {name: function for name, function in functions.items() if function is not None}
        is_one = own.identity is None or form.is_tuple
        made = loop.fold(form, called, own.identity if is_one else (own.identity,))
    else:
        made = loop.pick(form, own.function)
    words = f", for {shapes.accepts(own.types).words}" if own.types is not None else ""
    return Compiled(own, form, compiled(made, f"{where}{own}{words}"))


def _compiled_for(own: Function, kind: pa.DataType) -> Compiled:
    assert own.types is not None
    return compile_for(own, shapes.shape(own.types, kind, own.sees_nulls))


def bound_fold(own: Function, settings: Settings, kind: logical.DataType) -> Fold:
    """The fold of one column."""
    arrow = arrow_types.to_arrow(kind)
    made = _compiled_for(own, arrow)
    return own.declared(Fold, partial(folded, made, arrow), fold=partial(_fold, made))


def bound_pick(own: Function, settings: Settings, kind: logical.DataType) -> Pick:
    """The pick of one column."""
    made = _compiled_for(own, arrow_types.to_arrow(kind))
    return own.declared(Pick, partial(_picked_value, made), pick=partial(picks, made))


def _fold(made: Compiled, inputs: Inputs) -> FoldResult:
    outs = shapes.results(made.form, inputs.groups)
    arrays = shapes.inputs(made.form, inputs.column)
    definition = partial(folded, made, inputs.column.type)
    failing.run(made.of, made.loop, arrays, inputs, outs, definition)
    return shapes.column_of(made.form, inputs.column.type, outs[:-1], outs[-1])


def picks(made: Compiled, inputs: Inputs) -> Rows:
    """The row of each group that no later one replaced; -1 if there is not one."""
    out = np.empty(inputs.groups, dtype=np.int64)
    arrays = shapes.inputs(made.form, inputs.column)
    failing.run(made.of, made.loop, arrays, inputs, [out], partial(picked, made.of, made.form))
    return out


def folded(made: Compiled, kind: pa.DataType, records: Records) -> Any:
    """The result of the plain Python function, called value by value."""
    own, form = made.of, made.form
    step, retract = plain(own.function), plain(own.retract or own.function)
    start = own.started(form)
    result, is_found = start, False
    for op, value in records:
        if op == RESET:
            result, is_found = start, False
        now = shapes.seen(form, value)
        if op == SKIP or (now is None and not own.sees_nulls):
            continue
        with failing.at(own, result, now):
            if op == RETRACT:
                result = retract(result, now)
            else:
                result = step(result, now) if is_found else now
            result = shapes.row_class(form)(*result) if form.is_tuple else result
        is_found = True
    return shapes.given(form, kind, result) if is_found else None


def picked(own: Function, form: Shape, records: Records) -> int | None:
    """The index of the record that no later one replaced, by the plain Python function."""
    step, place, best = plain(own.function), None, None
    for at, (op, value) in enumerate(records):
        if op == RESET:
            place = None
        now = shapes.seen(form, value)
        if op > SKIP and now is not None:
            with failing.at(own, best, now):
                if place is None or step(best, now):
                    place, best = at, now
    return place


def _picked_value(made: Compiled, records: Records) -> Any:
    place = picked(made.of, made.form, records)
    return None if place is None else records[place][1]
