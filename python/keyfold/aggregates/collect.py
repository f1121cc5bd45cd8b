"""collect: the elements of the arrays in one array (Paimon FieldCollectAgg).

With `distinct` each value comes once, as Java's equals has it: NaN is NaN, -0.0 is not 0.0, there
is one NULL, nested values are equal part by part. A retraction removes one equal element for each
of its own, the first; retracting from nothing leaves nothing. Elements stay in merge order.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.declare import (
    Accepts,
    Aggregate,
    Fold,
    FoldResult,
    Inputs,
    Parameter,
    Records,
    Settings,
)
from keyfold.aggregates.nested import Elements, elements_of, table_of
from keyfold.kernels.buffers import Rows, ones
from keyfold.kernels.codes import codes
from keyfold.kernels.keys import Keys, encode_nullable
from keyfold.kernels.lists import code_in_groups, collect_values, concatenate, hash_bytes
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.options.values import boolean
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import DataType

DISTINCT = Parameter("distinct", boolean, "false", "Whether each value is collected once.")


def _collapses(element: pa.DataType) -> bool:
    """Whether a stored array's own duplicates go: not those of nested values and of bytes."""
    return not (types.is_nested(element) or types.is_binary(element))


def _fold(distinct: bool, inputs: Inputs) -> FoldResult:
    kind, values = inputs.column.type, inputs.column.values
    elements = elements_of(inputs)
    out, bounds, valid = elements.results
    if distinct or (inputs.ops == RETRACT).any():
        most = _most_elements(elements)
        found = _codes(values, elements, most)
        counts, taken = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
        flags = (distinct, _collapses(kind.value_type))
        collect_values(*elements.rows, found, counts, taken, *flags, out, bounds, valid)
    else:
        concatenate(*elements.rows, out, bounds, valid)
    return FoldResult(table_of(kind, bounds, valid, values.take(pa.array(out[: bounds[-1]]))))


def _most_elements(elements: Elements) -> int:
    """The elements of the largest group."""
    sizes = np.diff(elements.offsets)[elements.order]
    sums = np.concatenate(([0], np.cumsum(sizes)))[elements.starts]
    return int(np.diff(sums).max(initial=0))


def _codes(values: pa.Array, elements: Elements, most: int) -> Rows:
    """A code for each element, the same for equal elements of a group."""
    if types.is_nested(values.type):
        keys, has_value = Keys(codes([values])[0].view(np.uint64)), ones(len(values))
    else:
        keys, has_value = encode_nullable(values)
    words = keys.words
    if keys.is_wide:
        words = np.empty(len(values), dtype=np.uint64)
        hash_bytes(keys.offsets, keys.data, words)
    size = 1 << (2 * most).bit_length()
    found = np.empty(len(values), dtype=np.int64)
    code_in_groups(
        elements.order,
        elements.starts,
        elements.offsets,
        elements.valid,
        words,
        has_value,
        keys.offsets,
        keys.data,
        keys.is_wide,
        np.full(size, -1, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        found,
    )
    return found


def definition(distinct: bool, collapses: bool, records: Records) -> Any:
    """Lists added up one by one, elements compared by the text of their value."""
    if len(records) == 1:
        return None if records[0][0] == SKIP else records[0][1]
    result: list[Any] | None = None
    for op, items in records:
        if op == RESET:
            result = items
        elif op == RETRACT and result is not None:
            result = _without(result, items or [])
        elif op == ADD and items is not None:
            stored = result or []
            result = _distinct(stored, items, collapses) if distinct else stored + items
    return result


def _distinct(stored: list[Any], added: list[Any], collapses: bool) -> list[Any]:
    result = [] if collapses else list(stored)
    seen = set(map(_key, result))
    for item in [*(stored if collapses else []), *added]:
        if _key(item) not in seen:
            seen.add(_key(item))
            result.append(item)
    return result


def _without(stored: list[Any], removed: list[Any]) -> list[Any]:
    left, result = Counter(map(_key, removed)), []
    for item in stored:
        if left[_key(item)]:
            left[_key(item)] -= 1
        else:
            result.append(item)
    return result


def _key(item: Any) -> str:
    """A text that equal values share; a map is a list of pairs, in any order."""
    if isinstance(item, dict):
        return repr({name: _key(part) for name, part in item.items()})
    if isinstance(item, list | tuple):
        is_map = isinstance(item, list) and any(isinstance(part, tuple) for part in item)
        return repr(sorted(map(_key, item)) if is_map else [_key(part) for part in item])
    return repr(item)


def _bind(settings: Settings, kind: DataType) -> Aggregate:
    distinct, collapses = settings[DISTINCT.name], _collapses(to_arrow(kind).value_type)
    return replace(
        COLLECT,
        fold=partial(_fold, distinct),
        definition=partial(definition, distinct, collapses),
    )


COLLECT = Fold(
    "collect",
    Accepts("'Array'", types.is_list),
    partial(definition, False, True),
    is_retractable=True,
    parameters=(DISTINCT,),
    bind=_bind,
    reversal="append",
    fold=partial(_fold, False),
    summary="the elements of the arrays in one array, `distinct` or not",
    nulls="a NULL array is ignored, NULL elements stay",
    retraction="removes one equal element for each",
)
