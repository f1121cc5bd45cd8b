"""Rows picked from a column of any type."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels.buffers import Rows, pack

_UNCHECKED = pc.TakeOptions(boundscheck=False)


def indices(picks: Rows) -> pa.Array:
    """The Arrow indices of picked rows; -1 is null."""
    return pa.Array.from_buffers(
        pa.int64(), len(picks), [pack((picks >= 0).view(np.uint8)), pa.py_buffer(picks)]
    )


def take(column: pa.Array, picked: pa.Array) -> pa.Array:
    """The picked rows of a column of any type; a null index gives null."""
    return pc.call_function("take", [column, picked], _UNCHECKED)
