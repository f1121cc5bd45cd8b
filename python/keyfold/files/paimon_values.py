"""Values as Paimon stores and hashes them, if that differs from their form in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.kernels.keys.hash import bucket_hash
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic, DataType
from keyfold.wire.layout import TableLayout

MILLIS = 3


def stored_type(data_type: DataType) -> pa.DataType:
    """The Arrow type in a file; times and timestamps of up to 3 digits are in milliseconds."""
    arrow = to_arrow(data_type)
    if pa.types.is_time(arrow):
        return pa.time32("ms")
    if isinstance(data_type, Atomic) and pa.types.is_timestamp(arrow):
        is_short = (data_type.length or 0) <= MILLIS
        return pa.timestamp("ms", tz=arrow.tz) if is_short else arrow
    return arrow


def hashes(
    layout: TableLayout, names: Sequence[str], columns: Sequence[pa.Array]
) -> npt.NDArray[np.int64]:
    """Paimon's hash of each row of the named columns, as int64."""
    kinds = (layout.column(name).type for name in names)
    stored = [c.cast(stored_type(k), safe=False) for c, k in zip(columns, kinds, strict=True)]
    return bucket_hash(stored).astype(np.int64)
