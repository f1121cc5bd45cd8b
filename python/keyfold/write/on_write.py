"""Columns that each write sets (`fields.<column>.on-write`), whatever its rows bring for them.

All rows of a job get the time at which it was planned, so that a task which runs again writes the
same. Nothing is set where compactions write, as they make no new values.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.options.declared import TableOptions
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import WriteSpec


def time_of_job(options: TableOptions) -> int | None:
    """The time that a job which begins now writes, in microseconds since 1970; None if no column
    has one.
    """
    return time.time_ns() // 1000 if options.on_write else None


def with_times(
    spec: WriteSpec,
    options: TableOptions,
    arrays: Sequence[pa.Array],
    taken_back: npt.NDArray[np.bool_] | None = None,
) -> list[pa.Array]:
    """The arrays of all columns of the table, with the job's time where writes set it. What a row
    `taken_back` has there is NULL, which nothing takes back.
    """
    if spec.time is None:
        return list(arrays)
    return [
        _times(spec.layout, spec.time, field, len(array), taken_back)
        if field.name in options.on_write
        else array
        for field, array in zip(spec.layout.arrow_schema, arrays, strict=True)
    ]


def _times(
    layout: TableLayout,
    micros: int,
    field: pa.Field,
    rows: int,
    taken_back: npt.NDArray[np.bool_] | None,
) -> pa.Array:
    precision = getattr(layout.column(field.name).type, "length", None)
    unit = 10 ** (6 - min(6, 6 if precision is None else precision))
    point = pa.scalar(micros // unit * unit, pa.timestamp("us", "UTC"))
    array = pa.repeat(point, rows).cast(field.type, safe=False)
    if taken_back is None:
        return array
    return pc.if_else(pa.array(taken_back), pa.scalar(None, field.type), array)
