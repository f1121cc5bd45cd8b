"""Column results: each output column is taken once, from the rows that won."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels.buffers import Rows, pack

_UNCHECKED = pc.TakeOptions(boundscheck=False)
_WIDE = {pa.utf8(): pa.large_utf8(), pa.binary(): pa.large_binary()}
_MOST_BYTES = 1 << 30
_BATCH_BYTES = 1 << 26


def indices(picks: Rows) -> pa.Array:
    """Arrow indices of picked rows; -1 is null."""
    return pa.Array.from_buffers(
        pa.int64(), len(picks), [pack((picks >= 0).view(np.uint8)), pa.py_buffer(picks)]
    )


def take(column: pa.Array, picked: pa.Array) -> pa.Array:
    """The picked rows of a column of any type; a null index gives null."""
    return pc.call_function("take", [column, picked], _UNCHECKED)


def keep(column: pa.Array, flags: npt.NDArray[np.bool_]) -> pa.Array:
    """The flagged rows of a column."""
    return column.filter(pa.array(flags))


def combine(parts: list[pa.Array]) -> pa.Array:
    """One array of all rows; text beyond what 32-bit offsets reach gets 64-bit ones."""
    if len(parts) == 1:
        return parts[0]
    wide = _WIDE.get(parts[0].type)
    if wide is not None and sum(part.nbytes for part in parts) > _MOST_BYTES:
        parts = [part.cast(wide) for part in parts]
    return pa.concat_arrays(parts)


def sliced(arrays: list[pa.Array], schema: pa.Schema, most_rows: int) -> list[pa.RecordBatch]:
    """Batches of the schema, whose text may come with 64-bit offsets; bounded in rows and, on
    average, in bytes.
    """
    rows, size = len(arrays[0]), sum(array.nbytes for array in arrays)
    step = max(1, min(most_rows, rows * _BATCH_BYTES // max(size, 1)))
    return [
        pa.RecordBatch.from_arrays(
            [
                array.slice(start, step).cast(field.type)
                for array, field in zip(arrays, schema, strict=True)
            ],
            schema=schema,
        )
        for start in range(0, rows, step)
    ]
