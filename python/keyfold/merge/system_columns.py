"""What the rows of a round hold beside their columns: numbers, kinds and marks, run after run."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from keyfold.merge import kinds as row_kinds
from keyfold.merge.columns import combine
from keyfold.merge.kinds import SEQUENCE_NUMBER, Kinds
from keyfold.merge.marks.records import Marks

Pieces = Sequence[list[pa.RecordBatch]]


def numbers_of(pieces: Pieces, greatest: Sequence[int]) -> pa.Array:
    """Sequence numbers of all rows; of a run that has no such column its greatest."""
    parts = [
        _numbers(batch, number)
        for found, number in zip(pieces, greatest, strict=True)
        for batch in found
    ]
    return combine(parts)


def _numbers(batch: pa.RecordBatch, greatest: int) -> pa.Array:
    place = batch.schema.get_field_index(SEQUENCE_NUMBER)
    if place >= 0:
        return batch.column(place)
    return pa.array(np.full(batch.num_rows, greatest, dtype=np.int64))


def concatenated_kinds(batches: Sequence[pa.RecordBatch]) -> Kinds | None:
    """Kinds of all rows; None where no batch has the column."""
    parts = [row_kinds.of(batch) for batch in batches]
    if all(part is None for part in parts):
        return None
    filled = [
        np.zeros(batch.num_rows, dtype=np.int8) if part is None else part
        for batch, part in zip(batches, parts, strict=True)
    ]
    return np.concatenate(filled)


def mark_columns(marks: Marks | None, rows: int) -> list[pa.Array]:
    """The columns `_NAMED` and `_OVERWRITTEN` of so many rows."""
    return [pa.nulls(rows, pa.utf8())] * 2 if marks is None else marks.arrays()
