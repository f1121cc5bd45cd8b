"""A user's fold or pick as the aggregate of one column: compiled for its type, its definition."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declare import Fold, FoldResult, Inputs, Pick, Records, Settings
from keyfold.authored import failing, shapes
from keyfold.authored.function import Function
from keyfold.errors import FunctionError
from keyfold.kernels import loops
from keyfold.kernels.buffers import Rows
from keyfold.kernels.cloned import plain
from keyfold.kernels.generated import CompileError, compiled
from keyfold.kernels.loops import Shape
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.types import arrow as arrow_types
from keyfold.types import logical


@dataclass(frozen=True)
class Compiled:
    """A function compiled for the columns of one type."""

    of: Function
    form: Shape
    kind: pa.DataType
    loop: Any


def compile_for(own: Function, kind: pa.DataType) -> Compiled:
    """FunctionError with file and line where it does not compile for that type."""
    assert own.types is not None
    form = shapes.shape(own.types, kind, own.sees_nulls)
    try:
        if own.form == "pick":
            made = loops.pick(form, own.function)
        else:
            calls = {"step": own.function}
            calls |= {} if own.retract is None else {"retract": own.retract}
            made = loops.fold(form, calls, own.start(form))
        return Compiled(own, form, kind, compiled(made))
    except CompileError as error:
        raise FunctionError(f"{own}, for {shapes.accepts(own.types).words}: {error}") from error


def bound_fold(own: Function, settings: Settings, kind: logical.DataType) -> Fold:
    """The fold of one column."""
    made = compile_for(own, arrow_types.to_arrow(kind))
    return own.declared(Fold, partial(definition, made), fold=partial(_fold, made))


def bound_pick(own: Function, settings: Settings, kind: logical.DataType) -> Pick:
    """The pick of one column."""
    made = compile_for(own, arrow_types.to_arrow(kind))
    return own.declared(Pick, partial(picked, made), pick=partial(_pick, made))


def _fold(made: Compiled, inputs: Inputs) -> FoldResult:
    arrays, valid = shapes.parts(made.form, inputs.column)
    outs = shapes.results(made.form, inputs.groups)
    out_valid = np.empty(inputs.groups, dtype=np.uint8)
    slots = loops.inputs(shapes.without_masks(made.form), arrays)

    def run(first: int, stop: int) -> None:
        starts = inputs.starts[first : stop + 1]
        found = [out[first:stop] for out in outs]
        made.loop(*slots, valid, inputs.ops, inputs.order, starts, *found, out_valid[first:stop])

    def replay(group: int) -> object:
        return definition(made, failing.records_of(inputs, group))

    with failing.explained(made.of, inputs.groups, run, replay):
        run(0, inputs.groups)
    return shapes.column_of(made.form, inputs.column.type, outs, out_valid)


def _pick(made: Compiled, inputs: Inputs) -> Rows:
    arrays, valid = shapes.parts(made.form, inputs.column)
    out = np.empty(inputs.groups, dtype=np.int64)
    slots = loops.inputs(made.form.slots, arrays)

    def run(first: int, stop: int) -> None:
        starts = inputs.starts[first : stop + 1]
        made.loop(*slots, valid, inputs.ops, inputs.order, starts, out[first:stop])

    def replay(group: int) -> object:
        return picked(made, failing.records_of(inputs, group))

    with failing.explained(made.of, inputs.groups, run, replay):
        run(0, inputs.groups)
    return out


def definition(made: Compiled, records: Records) -> Any:
    """The plain Python function, called value by value."""
    own, form = made.of, made.form
    step, retract = plain(own.function), plain(own.retract or own.function)
    start = own.identity if own.identity is None else own.started(form)
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
    return shapes.given(form, made.kind, result) if is_found else None


def picked(made: Compiled, records: Records) -> Any:
    """The value that no later one replaced, by the plain Python function."""
    step = plain(made.of.function)
    best, best_seen = None, None
    for op, value in records:
        if op == RESET:
            best, best_seen = None, None
        now = shapes.seen(made.form, value)
        if op in (ADD, RESET) and now is not None:
            with failing.at(made.of, best_seen, now):
                if best_seen is None or step(best_seen, now):
                    best, best_seen = value, now
    return best
