"""The groups of a batch by Arrow's own engine, where its results are Spark's.

Arrow adds without looking for overflow, and passes over NaN: a batch in which either may come up is
not its. Others take about half the time. Measured on 128 Ki rows with a count, a sum and a maximum,
ns per row: 15 instead of 30 for 1,000 groups by an INT, 27 instead of 38 by a text, 91 instead of
167 for 50,000 groups by both. pyarrow imports its engine at the first use, in a worker, which keeps
pandas out; in the fork server pandas would come with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.read.folds.scan_aggregates import COUNT, EXTREMES, MOST_DIGITS, ScanAggregate
from keyfold.types.literals import unscaled


def folded(chosen: Sequence[ScanAggregate], batch: pa.RecordBatch) -> pa.RecordBatch | None:
    """One row per group of the columns in front of the states; None if Arrow might be wrong."""
    by = batch.num_columns - len(chosen)
    states = [(str(place), function) for place, function in enumerate(chosen, by)]
    if not all(_is_right(function, batch.column(int(name))) for name, function in states):
        return None
    asked = [(name, "sum" if f.op not in EXTREMES else f.op.lower()) for name, f in states]
    places = [str(place) for place in range(batch.num_columns)]
    table = pa.Table.from_batches([batch.rename_columns(places)])
    groups = table.group_by(places[:by], use_threads=False).aggregate(asked)
    names = [*places[:by], *(f"{name}_{op}" for name, op in asked)]
    (found,) = groups.select(names).combine_chunks().to_batches()
    if found.schema.types != batch.schema.types:
        return None
    return found.rename_columns(batch.schema.names)


def _is_right(function: ScanAggregate, states: pa.Array) -> bool:
    kind = states.type
    if function.fold is not None:
        return False
    if function.op in EXTREMES:
        return not types.is_floating(kind) or not pc.any(pc.is_nan(states)).as_py()
    if function.op == COUNT or types.is_floating(kind):
        return True
    ends = [end for end in pc.min_max(states).as_py().values() if end is not None]
    limit = 10**MOST_DIGITS if types.is_decimal(kind) else 1 << 63
    return max((abs(unscaled(end)) for end in ends), default=0) * len(states) < limit
