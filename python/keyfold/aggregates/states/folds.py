"""The ways in which the fields of aggregate states merge, by the name that a function declares.

Each takes the fields of the states that count, in merge order, and the first of each group; a group
has at least one. It gives the fields of each group's state, as Spark's own merge would.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from keyfold.aggregates.bitmaps import RBM64
from keyfold.aggregates.declaration import Aggregate, BadRecord, FoldResult, Inputs, Pick
from keyfold.aggregates.min_max import BOOL_AND, MAX, MIN
from keyfold.aggregates.nested import column_of
from keyfold.aggregates.quantile_union import QUANTILE_UNION
from keyfold.aggregates.sketches import HLL_SKETCH
from keyfold.aggregates.states.opaque import united
from keyfold.aggregates.states.signature import Signature
from keyfold.aggregates.sum import SUM
from keyfold.kernels.array_tuples import lists_of
from keyfold.kernels.buffers import Rows, ones, validity, values
from keyfold.kernels.folds.elements import NO_LIMIT, Rules, collected
from keyfold.kernels.folds.moments import merge_moments, merge_pairs, merged
from keyfold.kernels.roaring import bitmaps

Fields = Sequence[pa.Array]
Merge = Callable[[Fields, Rows], list[pa.Array]]


def _inputs(column: pa.Array, starts: Rows) -> Inputs:
    count = len(column)
    return Inputs(column, ones(count).view(np.int8), np.arange(count, dtype=np.int64), starts)


def _checked(result: FoldResult, what: str) -> pa.Array:
    if result.overflowed >= 0:
        raise BadRecord(result.overflowed, f"the {what} does not fit {result.array.type}")
    return result.array


def _sums(fields: Fields, starts: Rows) -> list[pa.Array]:
    return [_checked(SUM.fold(_inputs(field, starts)), "sum") for field in fields]


def _sum(fields: Fields, starts: Rows) -> list[pa.Array]:
    """The sum; one of decimals says beside it whether it is that of nothing."""
    if len(fields) == 1:
        return _sums(fields, starts)
    total, is_empty = fields
    lost = np.flatnonzero((validity(total) == 0) & (is_empty.to_numpy(zero_copy_only=False) == 0))
    if len(lost):
        group = int(np.searchsorted(starts, lost[0], side="right")) - 1
        raise BadRecord(group, "a state is that of a sum beyond its type")
    emptiness = _inputs(is_empty, starts)
    return [*_sums([total], starts), is_empty.take(pa.array(BOOL_AND.pick(emptiness)))]


def _picked(pick: Pick, by: int, fields: Fields, starts: Rows) -> list[pa.Array]:
    """All fields of the row that is picked by one of them; of equals the last, as in Spark."""
    count = len(fields[0])
    found = pick.pick(
        _inputs(fields[by].take(pa.array(np.arange(count)[::-1])), _reversed(starts, count))
    )[::-1]
    rows = pa.array(
        np.where(found < 0, starts[:-1], count - 1 - found), mask=(found < 0) & (len(fields) == 1)
    )
    return [field.take(rows) for field in fields]


def _reversed(starts: Rows, count: int) -> Rows:
    return np.ascontiguousarray((count - starts)[::-1])


def _first(fields: Fields, starts: Rows) -> list[pa.Array]:
    """The first state of a value; the first of all if none is."""
    is_set = fields[1].to_numpy(zero_copy_only=False).astype(np.bool_)
    places = np.where(is_set, np.arange(len(is_set)), len(is_set))
    first = np.minimum.reduceat(places, starts[:-1])
    rows = pa.array(np.where(first == len(is_set), starts[:-1], first))
    return [field.take(rows) for field in fields]


def _last(fields: Fields, starts: Rows) -> list[pa.Array]:
    is_set = fields[1].to_numpy(zero_copy_only=False).astype(np.bool_)
    last = np.maximum.reduceat(np.where(is_set, np.arange(len(is_set)), -1), starts[:-1])
    rows = pa.array(np.where(last < 0, starts[:-1], last))
    return [field.take(rows) for field in fields]


def _bits(operation: Any, identity: int, fields: Fields, starts: Rows) -> list[pa.Array]:
    column = fields[0]
    valid = validity(column).astype(np.bool_)
    numbers = np.where(valid, values(column, column.type.to_pandas_dtype()), identity)
    found = operation.reduceat(numbers, starts[:-1]).astype(numbers.dtype)
    return [pa.array(found, column.type, mask=~np.logical_or.reduceat(valid, starts[:-1]))]


def _doubles(merge: Any, fields: Fields, starts: Rows) -> list[pa.Array]:
    table = np.stack([field.to_numpy(zero_copy_only=False) for field in fields], axis=1)
    return [pa.array(column) for column in merged(merge, table, starts).T]


def _moments(fields: Fields, starts: Rows) -> list[pa.Array]:
    return _doubles(merge_moments, fields, starts)


def _covariance(fields: Fields, starts: Rows) -> list[pa.Array]:
    return _doubles(merge_pairs, fields, starts)


def _regression(fields: Fields, starts: Rows) -> list[pa.Array]:
    return [*_covariance(fields[:4], starts), *_moments(fields[4:], starts)]


def _concat(fields: Fields, starts: Rows) -> list[pa.Array]:
    lists = fields[0]
    sizes = np.concatenate(
        ([0], np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy()))
    )
    offsets = pa.array(sizes[starts].astype(np.int32))
    return [pa.ListArray.from_arrays(offsets, lists.flatten(), type=lists.type)]


def _distinct(fields: Fields, starts: Rows) -> list[pa.Array]:
    inputs = _inputs(fields[0], starts)
    rules = Rules(is_distinct=True, collapses=True, removes_all=False, limit=NO_LIMIT)
    kept = collected(inputs.records, lists_of(fields[0]), fields[0].values, rules)
    return [column_of(inputs, kept).array]


def _folded(fold: Callable[[Inputs], FoldResult], fields: Fields, starts: Rows) -> list[pa.Array]:
    return [fold(_inputs(fields[0], starts)).array]


def _set_operation(operation: Callable[[BitMap64, BitMap64], BitMap64]) -> Merge:
    def combine(states: list[bytes]) -> bytes:
        first, *rest = map(bitmaps.read64, states)
        for other in rest:
            first = operation(first, other)
        return bitmaps.write64(first)

    return partial(_folded, united(combine))


MERGES: dict[str, Merge] = {
    "sum": _sum,
    "sums": _sums,
    "min": partial(_picked, MIN, 0),
    "max": partial(_picked, MAX, 0),
    "min_by": partial(_picked, MIN, 1),
    "max_by": partial(_picked, MAX, 1),
    "first": _first,
    "last": _last,
    "bit_and": partial(_bits, np.bitwise_and, -1),
    "bit_or": partial(_bits, np.bitwise_or, 0),
    "bit_xor": partial(_bits, np.bitwise_xor, 0),
    "moments": _moments,
    "covariance": _covariance,
    "regression": _regression,
    "concat": _concat,
    "distinct": _distinct,
    "hll_union": partial(_folded, HLL_SKETCH.fold),
    "bitmap_union": partial(_folded, RBM64.fold),
    "bitmap_intersect": _set_operation(lambda one, other: one & other),
    "group_bitmap_xor": _set_operation(lambda one, other: one ^ other),
    "quantile_union": partial(_folded, QUANTILE_UNION.fold),
}

_HELD = {
    "hll_union": HLL_SKETCH,
    "bitmap_union": RBM64,
    "bitmap_intersect": RBM64,
    "group_bitmap_xor": RBM64,
    "quantile_union": QUANTILE_UNION,
}


def check_held(signature: Signature, merge: Merge | Aggregate, field: pa.Array) -> None:
    """Raises BadRecord if the first field of states holds bytes that are not what their function
    folds.
    """
    found = merge if isinstance(merge, Aggregate) else _HELD.get(signature.function.fold)
    if found is not None and found.check is not None:
        found.check(field)
    elif found is not None and found.normalize is not None and found.normalizes_states:
        found.normalize(field)
