"""count: the number of inputs that were not null (keyfold's own: Paimon has no such function).

A column with this function holds a number of inputs. Each value that a job writes is counted on
the way in: any value as 1, NULL as 0. From there on counts add up, so the result is the same for
any split of the records into jobs, files and merges. A retraction takes back the count of its
value. A count that leaves the column's type is an overflow.
"""

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.declaration import Accepts, Fold
from keyfold.aggregates.sum import SUM
from keyfold.kernels.buffers import column_of, dtype_of, ones, validity
from keyfold.types.logical import Atomic

INTEGER = Accepts("an integer type", types.is_integer)


def counted(column: pa.Array) -> pa.Array:
    """1 for each value, 0 for each null: in the column's type if it is whole, else BIGINT."""
    kind = column.type if INTEGER.test(column.type) else pa.int64()
    counts = validity(column).astype(dtype_of(kind))
    return column_of(kind, np.ascontiguousarray(counts), ones(len(column)))


COUNT = Fold(
    "count",
    INTEGER,
    SUM.definition,
    is_retractable=True,
    retracts_alone=True,
    reversal="append",
    is_stored_by_paimon=False,
    normalize=counted,
    normalizes_states=False,
    running=SUM.running,
    of_nothing="0",
    result_of_any=Atomic("BIGINT"),
    fold=SUM.fold,
    over_records="SUM",
    summary="how many inputs were not NULL; a written value counts 1, whatever it is",
    nulls="count 0",
    retraction="takes 1 back for a value",
)
