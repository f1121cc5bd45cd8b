"""Origins: the file that each row is from, if the reader of a table asks for it.

A column of numbers rides along with the rows of each run. A result has the number of its record. It
is NULL if several records made the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels.folds.picked import indices, take
from keyfold.merge.column_results import combine
from keyfold.merge.deferred import Deferred
from keyfold.merge.engine import MergeStep

ORIGIN = "_ORIGIN"
FIELD = pa.field(ORIGIN, pa.int32())


def with_origin(batch: pa.RecordBatch | Deferred, number: int) -> pa.RecordBatch | Deferred:
    """The batch, all of whose rows are from the file of that number."""
    column = pa.array(np.full(batch.num_rows, number, dtype=np.int32))
    if isinstance(batch, Deferred):
        return batch.with_column(FIELD, column)
    return batch.append_column(FIELD, column)


def of_all(batches: Sequence[pa.RecordBatch | Deferred]) -> pa.Array | None:
    """The origins of the rows of some batches; None if they don't tell."""
    if any(batch.schema.get_field_index(ORIGIN) < 0 for batch in batches):
        return None
    return combine([batch.column(ORIGIN) for batch in batches])


def of_results(
    origins: pa.Array, step: MergeStep, last: np.typing.NDArray[np.int64], *, is_record: bool
) -> pa.Array:
    """The origin of each result, whose last record is at `last`. With `is_record` every result is
    that record.
    """
    found = take(origins, indices(last))
    if is_record:
        return found
    sizes = np.diff(step.starts)
    size_at = np.zeros(len(origins), dtype=np.int64)
    size_at[step.order] = np.repeat(sizes, sizes)
    return pa.array(found.to_numpy(zero_copy_only=False), FIELD.type, mask=size_at[last] > 1)
