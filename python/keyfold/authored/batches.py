"""A user's combine (the values of one key, in plain Python) or gather (those of many keys, as Arrow
arrays) as the aggregate of one column.
"""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declare import BadRecord, Combine, Gather, Inputs, Records, Settings
from keyfold.authored import failing
from keyfold.authored.function import Function, located
from keyfold.kernels.buffers import Rows, validity
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.types import arrow as arrow_types
from keyfold.types import logical


def bound_combine(own: Function, settings: Settings, kind: logical.DataType) -> Combine:
    """The aggregate of one column."""
    arrow = arrow_types.to_arrow(kind)
    return own.declared(
        Combine, partial(combined, own, arrow), combine=partial(_combine, own, arrow)
    )


def _combine(own: Function, kind: pa.DataType, records: Records) -> Any:
    try:
        return combined(own, kind, records)
    except failing.StepError as error:
        raise BadRecord(0, str(error)) from error.__cause__


def combined(own: Function, kind: pa.DataType, records: Records) -> Any:
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


def _called(own: Function, values: list[Any]) -> Any:
    with failing.at(own, values):
        return own.function(values)


def bound_gather(own: Function, settings: Settings, kind: logical.DataType) -> Gather:
    """The aggregate of one column."""
    definition = partial(gathered, own, arrow_types.to_arrow(kind))
    return own.declared(
        Gather, definition, gather=partial(_rows, own), finish=partial(_finish, own)
    )


def _rows(own: Function, inputs: Inputs) -> tuple[Rows, Rows]:
    """The rows that count (after the last reset of their group), and the starts of groups."""
    keeps = inputs.ops > SKIP
    if not own.sees_nulls:
        keeps &= validity(inputs.column)[inputs.order] == 1
    resets = np.flatnonzero(inputs.ops == RESET)
    if len(resets):
        first = inputs.starts[:-1].copy()
        group = np.searchsorted(inputs.starts, resets, side="right") - 1
        np.maximum.at(first, group, resets)
        sizes = np.diff(inputs.starts)
        keeps &= np.arange(len(keeps)) >= np.repeat(first, sizes)
    offsets = np.concatenate(([0], np.cumsum(keeps)))[inputs.starts]
    return inputs.order[keeps], offsets.astype(np.int64)


def _finish(own: Function, taken: pa.Array, offsets: Rows, kind: pa.DataType) -> pa.Array:
    try:
        return _asked(own, taken, offsets, kind)
    except failing.StepError as error:
        group = _first_failing(own, taken, offsets, kind)
        raise BadRecord(group, str(error)) from error.__cause__


def _first_failing(own: Function, taken: pa.Array, offsets: Rows, kind: pa.DataType) -> int:
    """The first group that fails alone; 0 if none does."""
    for group in range(len(offsets) - 1):
        try:
            _of_one(own, taken.slice(offsets[group], offsets[group + 1] - offsets[group]), kind)
        except failing.StepError:
            return group
    return 0


def _of_one(own: Function, values: pa.Array, kind: pa.DataType) -> Any:
    """The function of the values of one group."""
    return _asked(own, values, np.array([0, len(values)], dtype=np.int64), kind)[0].as_py()


def _asked(own: Function, values: pa.Array, offsets: Rows, kind: pa.DataType) -> pa.Array:
    groups = len(offsets) - 1
    with failing.at(own, f"{len(values)} values of {groups} keys"):
        found = own.function(values, offsets)
    is_array = isinstance(found, pa.Array)
    if not is_array or found.type != kind or len(found) != groups:
        gave = f"{len(found)} of {found.type}" if is_array else type(found).__name__
        raise failing.StepError(
            f"{own} at {located(own.function)} gave {gave}, expected an Arrow array of "
            f"{groups} of {kind}: one value a key"
        )
    return found


def gathered(own: Function, kind: pa.DataType, records: Records) -> Any:
    """The function of the values of one key."""
    values: list[Any] = []
    for op, value in records:
        values = [] if op == RESET else values
        if op in (ADD, RESET) and (value is not None or own.sees_nulls):
            values.append(value)
    return _of_one(own, pa.array(values, kind), kind)
