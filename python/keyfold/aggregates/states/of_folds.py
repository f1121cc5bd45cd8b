"""The states of folds: the value so far as the bytes of a Spark row, no bytes before a row came."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declaration import Aggregate, BadRecord, Inputs
from keyfold.aggregates.results import column_result, spread
from keyfold.aggregates.states.signature import Signature
from keyfold.kernels.buffers import Rows
from keyfold.kernels.ops import ADD
from keyfold.kernels.unsafe_rows.decode import BadRow, decode
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.types.arrow import to_arrow


def decoded(signature: Signature, buffers: pa.Array) -> list[pa.Array]:
    """The fields of states, none NULL. Raises BadRecord, with the row, if bytes are damaged."""
    try:
        return decode(buffers, [to_arrow(kind) for kind in signature.fields])
    except BadRow as error:
        raise BadRecord(error.row, f"a state of {signature.text} is damaged: {error}") from error


def group_of(row: int, starts: Rows) -> int:
    """The group that a row is in."""
    return int(np.searchsorted(starts, row, side="right")) - 1


def values_of(signature: Signature, buffers: pa.Array) -> tuple[npt.NDArray[np.bool_], pa.Array]:
    """Which states had a row, and the value of each of these. Raises BadRecord, with the row of all
    states, if bytes are damaged.
    """
    is_used = pc.greater(pc.binary_length(buffers), 0).to_numpy(zero_copy_only=False)
    try:
        (column,) = decoded(signature, buffers.filter(pa.array(is_used)))
    except BadRecord as error:
        raise BadRecord(int(np.flatnonzero(is_used)[error.group]), str(error)) from error
    return is_used, column


def folded(aggregate: Aggregate, signature: Signature, buffers: pa.Array, starts: Rows) -> pa.Array:
    """The buffer of each group, of no bytes if no state of it had a row."""
    is_used, column = values_of(signature, buffers)
    counts = np.add.reduceat(is_used.astype(np.int64), starts[:-1])
    groups = np.flatnonzero(counts)
    made = encode([_values(aggregate, column, counts[groups], groups)])
    return pc.fill_null(spread(made, groups, len(counts)).cast(pa.large_binary()), b"")


def _values(aggregate: Aggregate, column: pa.Array, counts: Rows, groups: Rows) -> pa.Array:
    """The values of these groups, of which each has `counts` of the column."""
    ops = np.full(len(column), ADD, dtype=np.int8)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    try:
        result = column_result(aggregate, Inputs(column, ops, np.arange(len(column)), starts))
    except BadRecord as error:
        raise BadRecord(int(groups[error.group]), str(error)) from error
    if result.overflowed >= 0:
        words = f"the {aggregate.name} does not fit {result.array.type}"
        raise BadRecord(int(groups[result.overflowed]), words)
    return result.array.cast(column.type)
