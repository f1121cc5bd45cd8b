"""agg_state: aggregate states merge as the function would (Doris' AGG_STATE … GENERIC).

A state is a header, which names function and types, and the function's buffer as the bytes of a
Spark row. `fields.<column>.agg-state` has the column's signature. All headers are checked where
states are written and where they merge. Then the buffers become columns, their fields are folded,
and the result becomes bytes again.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declaration import (
    Aggregate,
    BadRecord,
    Fold,
    FoldResult,
    Inputs,
    Parameter,
    Records,
    Settings,
)
from keyfold.aggregates.results import counted, spread
from keyfold.aggregates.states import headers
from keyfold.aggregates.states.bound_signatures import fold_of, parse
from keyfold.aggregates.states.folds import MERGES, Merge, check_held
from keyfold.aggregates.states.of_folds import decoded, folded, group_of, values_of
from keyfold.aggregates.states.opaque import BYTES, live, not_fixed
from keyfold.aggregates.states.signature import Signature, text_of
from keyfold.aggregates.states.state_option import STATE
from keyfold.errors import KeyfoldError
from keyfold.kernels.buffers import Rows
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.types.logical import DataType


def _parsed(text: str) -> Signature:
    try:
        return parse(text)
    except KeyfoldError as error:
        raise ValueError(str(error)) from None


SIGNATURE = Parameter(
    STATE, _parsed, None, "The function and the types of its arguments: `max_by(int, int)`."
)


def _fold(signature: Signature, merge: Merge | Aggregate, inputs: Inputs) -> FoldResult:
    rows, offsets = counted(inputs)
    groups = np.flatnonzero(np.diff(offsets))
    states, starts = inputs.column.take(pa.array(rows)), np.append(offsets[groups], offsets[-1])
    try:
        merged = _merged(signature, merge, states, starts)
    except BadRecord as error:
        raise BadRecord(int(groups[error.group]), str(error)) from error
    return FoldResult(spread(merged, groups, inputs.groups).cast(inputs.column.type))


def _merged(
    signature: Signature, merge: Merge | Aggregate, states: pa.Array, starts: Rows
) -> pa.Array:
    """The state of each group, which has one state at least."""
    heads, buffers = split(signature, states, starts)
    if isinstance(merge, Aggregate):
        chosen = heads.take(pa.array(starts[:-1]))
        return _joined(chosen, folded(merge, signature, buffers, starts))
    try:
        fields = decoded(signature, buffers)
    except BadRecord as error:
        raise BadRecord(group_of(error.group, starts), str(error)) from error
    chosen = _constants(signature, heads, fields, starts)
    return _joined(chosen, encode(merge(fields, starts)))


def _joined(heads: pa.Array, buffers: pa.Array) -> pa.Array:
    between = pa.scalar(b"", pa.large_binary())
    return pc.binary_join_element_wise(heads, buffers.cast(pa.large_binary()), between)


def merge_of(signature: Signature) -> Merge | Aggregate:
    """How the states of a signature merge: field by field, or as an aggregate folds its values."""
    function = signature.function
    return fold_of(signature) if function.kind == "fold" else MERGES[function.fold]


def split(signature: Signature, column: pa.Array, starts: Rows) -> tuple[pa.Array, pa.Array]:
    """Headers and buffers of states, none NULL. Raises BadRecord if one is not of the signature."""
    try:
        return headers.split(signature.text, column)
    except BadRecord as error:
        raise BadRecord(group_of(error.group, starts), str(error)) from error


def _constants(
    signature: Signature, heads: pa.Array, fields: list[pa.Array], starts: Rows
) -> pa.Array:
    """The header of each group: that of its first state with content. Raises BadRecord if another
    has other constants.
    """
    known = heads.dictionary_encode()
    codes = known.indices.to_numpy()
    if len(known.dictionary) < 2:
        return heads.take(pa.array(starts[:-1]))
    sizes = headers.amounts(fields[0])
    places = np.where(sizes > 0, np.arange(len(codes)), len(codes))
    first = np.minimum.reduceat(places, starts[:-1])
    first = np.where(first == len(codes), starts[:-1], first)
    wrong = (sizes > 0) & (codes != np.repeat(codes[first], np.diff(starts)))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        group = group_of(row, starts)
        one, other = (text_of(heads[int(at)].as_py()) for at in (first[group], row))
        raise BadRecord(
            group,
            "aggregate states are incompatible: they have different constant arguments, "
            f"{one} and {other}",
        )
    return heads.take(pa.array(first))


def _check(signature: Signature, merge: Merge | Aggregate, column: pa.Array) -> None:
    """Raises BadRecord if a value is not a state of the signature: its header, its fields, and the
    bytes of sketches and bitmaps in these.
    """
    valid = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    try:
        _, buffers = split(signature, column.drop_null(), np.arange(len(valid) + 1))
        rows, field = _held(signature, merge, buffers)
        try:
            check_held(signature, merge, field)
        except BadRecord as error:
            words = f"a state of {signature.text} is damaged: {error}"
            raise BadRecord(int(rows[error.group]), words) from error
    except BadRecord as error:
        raise BadRecord(int(valid[error.group]), str(error)) from error


def _held(
    signature: Signature, merge: Merge | Aggregate, buffers: pa.Array
) -> tuple[Rows, pa.Array]:
    """The first field of states, and the states that have it."""
    if isinstance(merge, Aggregate):
        is_used, field = values_of(signature, buffers)
        return np.flatnonzero(is_used), field
    return np.arange(len(buffers)), decoded(signature, buffers)[0]


def definition(signature: Signature | None, records: Records) -> Any:
    """The states merged two at a time."""
    result: Any = None
    for state in live(records):
        if signature is not None and result is not None:
            pair = pa.array([result, state], pa.binary())
            state = _merged(signature, merge_of(signature), pair, np.array([0, 2]))[0].as_py()
        result = state
    return result


def _bind(settings: Settings, kind: DataType) -> Aggregate:
    signature = settings[SIGNATURE.name]
    if signature is None:
        raise ValueError(
            "agg_state needs the option fields.<column>.agg-state, for one 'max_by(int, int)'"
        )
    return replace(
        AGG_STATE,
        fold=partial(_fold, signature, merge_of(signature)),
        definition=partial(definition, signature),
        check=partial(_check, signature, merge_of(signature)),
    )


AGG_STATE = Fold(
    "agg_state",
    BYTES,
    partial(definition, None),
    aliases=("GENERIC",),
    parameters=(SIGNATURE,),
    bind=_bind,
    refuses=not_fixed("aggregate state"),
    is_stored_by_paimon=False,
    summary="the state of all values of some aggregate states",
    nulls="ignored; all NULL gives NULL",
    retraction="refused",
)
