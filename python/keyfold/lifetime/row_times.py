"""The ages of rows: which are too old by a column of theirs, after Paimon's
`record-level.expire-time`.

A row goes when a compaction has folded all records of its key, and by its folded time: what is only
a part of a row decides nothing. Times are whole seconds since 1970; a TIMESTAMP without a zone
counts as one in UTC, as in Paimon. A row without a time stays.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.options.declared import TableOptions
from keyfold.options.row_times import MILLIS, check_row_times
from keyfold.types.logical import DataType, name_of
from keyfold.wire.layout import TableLayout

_MILLIS_FROM = 10**12  # a number from here on is milliseconds, as Paimon takes it


def earliest_kept(layout: TableLayout, options: TableOptions) -> int | None:
    """The time, in seconds since 1970, before which rows are too old now; None if none are. Raises
    TableError if the options, those of a call too, name no column of such times.
    """
    if options.row_seconds is None:
        return None
    check_row_times(layout, options)
    return int(time.time()) - int(options.row_seconds)


def are_old(
    layout: TableLayout, options: TableOptions, batch: pa.RecordBatch, earliest: int
) -> pa.Array:
    """Whether each row of a batch is older than `earliest`, by its column; a boolean array."""
    assert options.row_time is not None
    named = layout.column(options.row_time)
    column = batch.column(named.name)
    numbers = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    is_old = seconds_of(numbers, named.type, options.row_time_unit) < earliest
    return pa.array(is_old & column.is_valid().to_numpy(zero_copy_only=False))


def seconds_of(numbers: Rows, kind: DataType, unit: str | None) -> Rows:
    """The seconds since 1970 that stored numbers of a type mean."""
    root = name_of(kind)
    if root == "INT":
        return numbers
    if root == "BIGINT":
        is_millis = numbers >= _MILLIS_FROM if unit is None else unit == MILLIS
        return np.where(is_millis, _whole(numbers), numbers)
    return _whole(numbers // 1000)


def _whole(millis: Rows) -> Rows:
    """Milliseconds as whole seconds, cut towards 1970 as Java's division does."""
    return (millis + np.where(millis < 0, 999, 0)) // 1000
