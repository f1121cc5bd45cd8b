"""Row kinds: +I 0, -U 1, +U 2, -D 3, the byte Paimon stores in `_VALUE_KIND`."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.kernels.buffers import values

SEQUENCE_NUMBER = "_SEQUENCE_NUMBER"
VALUE_KIND = "_VALUE_KIND"
NAMES = ("+I", "-U", "+U", "-D")
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)

Kinds = npt.NDArray[np.int8]


def is_retract(kinds: Kinds) -> npt.NDArray[np.bool_]:
    """Whether each kind takes a row back: -U or -D."""
    flags: npt.NDArray[np.bool_] = (kinds & 1) == 1
    return flags


def of(batch: pa.RecordBatch) -> Kinds | None:
    """The `_VALUE_KIND` of a batch; None where the column is absent, all +I."""
    place = batch.schema.get_field_index(VALUE_KIND)
    return None if place < 0 else values(batch.column(place), np.int8)


def from_text(column: pa.Array, table: str, name: str) -> pa.Array:
    """int8 kinds of a `rowkind.field` column; TableError for a null or another text."""
    where = f"table {table}, rowkind.field column {name}"
    if column.null_count:
        raise TableError(f"{where}: Row kind cannot be null. Expected one of {', '.join(NAMES)}")
    found = pc.index_in(column, value_set=pa.array(NAMES, column.type))
    if found.null_count:
        bad = column.filter(found.is_null())[0].as_py()
        raise TableError(
            f"{where}: Unsupported short string '{bad}' for row kind. "
            f"Expected one of {', '.join(NAMES)}"
        )
    return found.cast(pa.int8())


def to_array(kinds: Kinds | None, length: int) -> pa.Array:
    """int8 column of kinds; all +I for None."""
    filled: Any = np.zeros(length, dtype=np.int8) if kinds is None else kinds
    return pa.array(filled, pa.int8())
