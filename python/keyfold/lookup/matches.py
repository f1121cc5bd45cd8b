"""The rows that each of some keys has, for a join: behind the place of its key, in the order of the
keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.lookup.places import LookupPlan
from keyfold.lookup.prefix import look_up_prefix
from keyfold.lookup.rows import look_up, schema_of

PLACE = pa.field("_PLACE", pa.int64(), False)
FIRST_KEYS = 64
MOST_BYTES = 16 << 20
MOST_GROWTH = 8


def matches(plan: LookupPlan, by: Sequence[str], keys: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of `matches_schema`. `by` are the columns of the primary key, of which each key has
    at most one row; or those of a prefix, as `look_up_prefix` takes them, of which it has any
    number: few keys are then looked up at once if they have many rows.
    """
    if set(by) == set(plan.scan.layout.primary_key):
        found, rows = look_up(plan, keys)
        places = np.flatnonzero(found.to_numpy(zero_copy_only=False))
        yield _placed(places, rows if len(places) == rows.num_rows else rows.filter(found))
        return
    start, count = 0, FIRST_KEYS
    while start < keys.num_rows:
        of_keys, rows = look_up_prefix(plan, by, keys.slice(start, count))
        yield _placed(of_keys.to_numpy() + start, rows)
        start += count
        fitting = count * MOST_BYTES // max(rows.nbytes, 1)
        count = max(1, min(fitting, count * MOST_GROWTH))


def matches_schema(plan: LookupPlan) -> pa.Schema:
    """The place of a key, and the columns of the plan."""
    return pa.schema([PLACE, *schema_of(plan)])


def _placed(places: Rows, rows: pa.RecordBatch) -> pa.RecordBatch:
    schema = pa.schema([PLACE, *rows.schema])
    return pa.RecordBatch.from_arrays([pa.array(places), *rows.columns], schema=schema)
