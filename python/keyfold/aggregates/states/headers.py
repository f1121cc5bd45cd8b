"""The headers of aggregate states, split from the buffers behind them, a column at a time."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declaration import BadRecord
from keyfold.aggregates.quantile_union import NOTHING
from keyfold.aggregates.states.signature import FIXED, described, text_of
from keyfold.kernels.buffers import Rows

_MOST_BYTES = (1 << 31) - 1


def split(signature: str, states: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Headers and buffers of states, none NULL. Nearly always all have the header of the first.
    Raises BadRecord, with the row, if one is not of the signature.
    """
    wide = states.cast(pa.large_binary())
    if not len(wide):
        return wide, wide
    first = header_in(signature, states[0].as_py())
    if first is not None:
        heads = pc.binary_slice(wide, 0, len(first))
        if pc.all(pc.equal(heads, pa.scalar(first, pa.large_binary()))).as_py():
            return heads, pc.binary_slice(wide, len(first), _MOST_BYTES)
    return _split_apart(signature, wide)


def header_in(signature: str, state: bytes) -> bytes | None:
    """The header of a state, constants included; None if it is not a state of the signature."""
    text = text_of(state)
    if text is None or text.partition(";")[0] != signature:
        return None
    return state[: FIXED + len(text.encode())]


def _split_apart(signature: str, column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Headers and buffers of states with different constants, or of wrong ones."""
    heads, buffers = [], []
    for row, state in enumerate(column.to_pylist()):
        header = header_in(signature, state)
        if header is None:
            raise BadRecord(row, f"expected a state of {signature}, found {described(state)}")
        heads.append(header)
        buffers.append(state[len(header) :])
    return pa.array(heads, pa.large_binary()), pa.array(buffers, pa.large_binary())


def amounts(held: pa.Array) -> Rows:
    """More than 0 where a state holds values: in a list, or in a sketch of quantiles. Functions
    with other fields have no constants.
    """
    if pa.types.is_list(held.type):
        lengths = pc.list_value_length(held)
    elif pa.types.is_binary(held.type) or pa.types.is_large_binary(held.type):
        lengths = pc.subtract(pc.binary_length(held), len(NOTHING))
    else:
        return np.ones(len(held), dtype=np.int64)
    amounts: Rows = pc.fill_null(lengths, 0).to_numpy().astype(np.int64)
    return amounts
