"""The order in which Spark sorts values: NULL before all, one zero, one NaN above all numbers, and
nested values field by field.
"""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declaration import COMPARABLE
from keyfold.kernels.buffers import Rows
from keyfold.kernels.groups import codes


def one_zero(items: pa.Array) -> pa.Array:
    """The values, with one zero and one NaN among floating numbers, as Spark compares them."""
    if not pa.types.is_floating(items.type):
        return items
    nan = pa.scalar(math.nan, items.type)
    return pc.if_else(pc.is_nan(items), nan, pc.add(items, pa.scalar(0.0, items.type)))


def comparable(value: Any) -> Any:
    """A stand-in for a value that Python compares in Spark's order."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, tuple(map(comparable, value.values())))
    if isinstance(value, list):
        return (1, tuple(map(comparable, value)))
    if isinstance(value, str):
        return (1, value.encode())
    if isinstance(value, float):
        return (1, math.isnan(value), 0.0 if math.isnan(value) else value)
    return (1, value)


def ranks(column: pa.Array) -> Rows:
    """Numbers that order the values: 0 of NULL, and of equal values the same."""
    if COMPARABLE.test(column.type):
        return codes.ranks([one_zero(column)])
    found = [comparable(value) for value in _numbered(column).to_pylist()]
    places = {value: i for i, value in enumerate(sorted({(0,), *found}))}
    return np.array([places[value] for value in found], dtype=np.int64)


def _numbered(column: pa.Array) -> pa.Array:
    """The values, the fields of structs named by their places: two may have one name."""
    if not pa.types.is_struct(column.type):
        return column
    fields = [_numbered(field) for field in column.flatten()]
    names = [str(place) for place in range(len(fields))]
    return pa.StructArray.from_arrays(fields, names=names, mask=column.is_null())
