"""Values as Paimon stores and hashes them, if that differs from their form in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.kernels.keys.hash import bucket_hash
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic, DataType
from keyfold.types.type_table import MILLIS
from keyfold.wire.layout import TableLayout


def stored_type(data_type: DataType) -> pa.DataType:
    """The Arrow type in a file; times and timestamps of up to 3 digits are in milliseconds."""
    if isinstance(data_type, Atomic) and (data_type.length or 0) <= MILLIS:
        return data_type.facts.short or to_arrow(data_type)
    return to_arrow(data_type)


def hashes(
    layout: TableLayout, names: Sequence[str], columns: Sequence[pa.Array]
) -> npt.NDArray[np.int64]:
    """Paimon's hash of each row of the named columns, as int64."""
    kinds = (layout.column(name).type for name in names)
    stored = [c.cast(stored_type(k), safe=False) for c, k in zip(columns, kinds, strict=True)]
    return bucket_hash(stored).astype(np.int64)
