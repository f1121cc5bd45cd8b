"""A user's function as the aggregate of one column: its compiled form, if it has one, and its
definition.

A fold or a pick is compiled. A combine gets the values of one key in plain Python, a gather those
of many keys as Arrow arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import (
    Aggregate,
    BadRecord,
    Fold,
    FoldResult,
    Inputs,
    Pick,
    Records,
    Settings,
)
from keyfold.aggregates.results import by_group, counted
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import take
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.user_functions import failing, loop, shapes
from keyfold.user_functions.compiled import compiled
from keyfold.user_functions.running_fold import running
from keyfold.user_functions.shapes import Shape
from keyfold.user_functions.user_function import UserFunction, located, plain


@dataclass(frozen=True)
class Compiled:
    """A fold, pick or engine compiled for the shape of a column, or of the rows of a table."""

    of: UserFunction
    form: Shape
    loop: Any


def compile_for(own: UserFunction, form: Shape, where: str = "") -> Compiled:
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


def bound(own: UserFunction, settings: Settings, kind: logical.DataType) -> Aggregate:
    """The aggregate of one column; a fold and a pick are compiled for its type."""
    arrow = arrow_types.to_arrow(kind)
    if own.form == "combine":
        fold = by_group(partial(_combine, own, arrow))
        return own.declared(Fold, partial(combined, own, arrow), fold=fold)
    if own.form == "gather":
        return own.declared(Fold, partial(gathered, own, arrow), fold=partial(_gather, own))
    assert own.types is not None
    made = compile_for(own, shapes.shape(own.types, arrow, own.sees_nulls))
    if own.form == "pick":
        return own.declared(Pick, partial(_picked_value, made), pick=partial(picks, made))
    return own.declared(
        Fold,
        partial(folded, made, arrow),
        fold=partial(_fold, made),
        running=partial(running, own, made.form),
    )


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


def picked(own: UserFunction, form: Shape, records: Records) -> int | None:
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


def _combine(own: UserFunction, kind: pa.DataType, records: Records) -> Any:
    try:
        return combined(own, kind, records)
    except failing.StepError as error:
        raise BadRecord(0, str(error)) from error.__cause__


def combined(own: UserFunction, kind: pa.DataType, records: Records) -> Any:
    """The function of the values since the last reset. A retraction takes its value back from the
    result of the values before it.
    """
    values: list[Any] = []
    for op, value in records:
        values = [] if op == RESET else values
        if op == SKIP or (value is None and not own.sees_nulls):
            continue
        if op == RETRACT and own.retract is not None:
            state = _called(own, values) if values else own.identity
            with failing.at(own, state, value):
                values = [own.retract(state, value)]
        else:
            values.append(value)
    result = _called(own, values) if len(values) > 1 else values[0] if values else None
    try:
        return pa.array([result], kind)[0].as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise failing.StepError(
            f"{own} at {located(own.function)} gave {failing.shown(result)}, expected {kind}"
        ) from error


def _called(own: UserFunction, values: list[Any]) -> Any:
    with failing.at(own, values):
        return own.function(values)


def _gather(own: UserFunction, inputs: Inputs) -> FoldResult:
    rows, offsets = counted(inputs, sees_nulls=own.sees_nulls)
    taken, kind = take(inputs.column, pa.array(rows)), inputs.column.type

    def asked(first: int, stop: int) -> pa.Array:
        start, some = offsets[first], offsets[first : stop + 1]
        return _asked(own, taken.slice(start, some[-1] - start), some - start, kind)

    try:
        return FoldResult(asked(0, inputs.groups))
    except failing.StepError as error:
        raise BadRecord(_first_failing(asked, inputs.groups), str(error)) from error.__cause__


def _first_failing(asked: Callable[[int, int], pa.Array], groups: int) -> int:
    """The first group that fails alone; 0 if none does."""
    for group in range(groups):
        try:
            asked(group, group + 1)
        except failing.StepError:
            return group
    return 0


def _of_one(own: UserFunction, values: pa.Array, kind: pa.DataType) -> Any:
    """The function of the values of one group."""
    return _asked(own, values, np.array([0, len(values)], dtype=np.int64), kind)[0].as_py()


def _asked(own: UserFunction, values: pa.Array, offsets: Rows, kind: pa.DataType) -> pa.Array:
    groups = len(offsets) - 1
    with failing.at(own, f"{len(values)} values of {groups} keys"):
        found = own.function(values, offsets)
    is_array = isinstance(found, pa.Array)
    if not is_array or found.type != kind or len(found) != groups:
        gave = f"{len(found)} of {found.type}" if is_array else type(found).__name__
        raise failing.StepError(
            f"{own} at {located(own.function)} gave {gave}, expected an Arrow array of "
            f"{groups} of {kind}: one value per key"
        )
    return found


def gathered(own: UserFunction, kind: pa.DataType, records: Records) -> Any:
    """The function of the values of one key."""
    values: list[Any] = []
    for op, value in records:
        values = [] if op == RESET else values
        if op in (ADD, RESET) and (value is not None or own.sees_nulls):
            values.append(value)
    return _of_one(own, pa.array(values, kind), kind)
