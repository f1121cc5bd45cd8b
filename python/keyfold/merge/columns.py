"""Column results: each output column is taken once, from the rows that won."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels.buffers import Rows, pack

_UNCHECKED = pc.TakeOptions(boundscheck=False)


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
    """One array of all rows."""
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
