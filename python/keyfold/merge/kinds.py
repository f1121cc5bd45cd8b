"""Row kinds: +I 0, -U 1, +U 2, -D 3, the byte that Paimon stores in `_VALUE_KIND`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.kernels.buffers import values
from keyfold.kernels.ops import DELETE, KIND_NAMES, UPDATE_BEFORE

SEQUENCE_NUMBER = "_SEQUENCE_NUMBER"
VALUE_KIND = "_VALUE_KIND"

_MAP = "keyfold.rowkind.map"  # the option, which is declared above this room
_TAKES_BACK = UPDATE_BEFORE & DELETE  # the bit that only these two have

Kinds = npt.NDArray[np.int8]


def is_retract(kinds: Kinds) -> npt.NDArray[np.bool_]:
    """Whether each kind takes a row back: -U or -D."""
    flags: npt.NDArray[np.bool_] = (kinds & _TAKES_BACK) != 0
    return flags


def of(batch: pa.RecordBatch) -> Kinds | None:
    """The `_VALUE_KIND` of a batch; None (all +I) if the column is absent."""
    place = batch.schema.get_field_index(VALUE_KIND)
    return None if place < 0 else values(batch.column(place), np.int8)


def of_all(batches: Sequence[pa.RecordBatch]) -> Kinds | None:
    """The kinds of all rows; None if no batch has the column."""
    parts = [of(batch) for batch in batches]
    if all(part is None for part in parts):
        return None
    filled = [
        np.zeros(batch.num_rows, dtype=np.int8) if part is None else part
        for batch, part in zip(batches, parts, strict=True)
    ]
    return np.concatenate(filled)


def from_text(column: pa.Array, table: str, name: str, others: Mapping[str, str]) -> pa.Array:
    """The int8 kinds of a column of texts. `others` are the kinds of other texts; if there are
    some, a NULL is +I. Raises TableError if a text is unknown, or NULL without others.
    """
    where = f"table {table}, {name}"
    if column.null_count and not others:
        raise TableError(
            f"{where}: Row kind cannot be null, as where a write leaves the column out. "
            f"{_expected(others)}"
        )
    texts = [*KIND_NAMES, *others]
    found = pc.index_in(column, value_set=pa.array(texts, column.type), skip_nulls=True)
    unknown = pc.and_(column.is_valid(), found.is_null())
    if pc.any(unknown).as_py():
        bad = column.filter(unknown)[0].as_py()
        raise TableError(
            f"{where}: Unsupported short string '{bad}' for row kind. {_expected(others)}"
        )
    codes = [KIND_NAMES.index(others.get(text, text)) for text in texts]
    return pa.array(codes, pa.int8()).take(pc.fill_null(found, 0))


def _expected(others: Mapping[str, str]) -> str:
    if others:
        return f"Expected one of {', '.join((*KIND_NAMES, *others))}, as {_MAP} says"
    return (
        f"Expected one of {', '.join(KIND_NAMES)}; {_MAP} names the kinds of other letters, for "
        "one c=+I, r=+I, u=+U, d=-D for those of Debezium"
    )


def to_array(kinds: Kinds | None, length: int) -> pa.Array:
    """An int8 column of kinds, all +I if they are None."""
    filled: Any = np.zeros(length, dtype=np.int8) if kinds is None else kinds
    return pa.array(filled, pa.int8())
