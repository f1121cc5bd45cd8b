"""Key columns that may hold NULL, as columns without NULL; NULL sorts before every value.

A nullable column becomes two: whether it holds a value, and the value, or the same stand-in for
every NULL. So keys have one encoding, with NULLs or without.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels.buffers import is_text, validity


def without_nulls(
    columns: Sequence[pa.Array], nullable: Sequence[bool], *, is_closed: bool = False
) -> list[pa.Array]:
    """The columns with each nullable one as two, in an order that compares as the rows do.

    If rows are compared only with one another (`is_closed`), a value of the same column is in place
    of NULL. NULL then makes neither their range wider nor the prefix they share shorter.
    """
    found: list[pa.Array] = []
    for column, may_be_null in zip(columns, nullable, strict=True):
        if may_be_null:
            is_found = is_closed and column.null_count < len(column)
            stand_in = column[int(validity(column).argmax())] if is_found else None
            found += [pc.is_valid(column), filled(column, stand_in)]
        else:
            found.append(column)
    return found


def filled(column: pa.Array, stand_in: pa.Scalar | None = None) -> pa.Array:
    """The column with `stand_in` in place of NULL; by default 0, false or the empty text."""
    if column.null_count == 0:
        return column
    return column.fill_null(_zero(column.type) if stand_in is None else stand_in)


def _zero(kind: pa.DataType) -> pa.Scalar:
    zeros = pa.py_buffer(bytes(16))
    buffers = [None, zeros, zeros] if is_text(kind) else [None, zeros]
    return pa.Array.from_buffers(kind, 1, buffers)[0]
