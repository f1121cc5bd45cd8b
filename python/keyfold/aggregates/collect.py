"""collect: the elements of the arrays in one array (Paimon FieldCollectAgg).

With `distinct` each value comes once. Values are equal as by Java's equals: NaN is NaN, -0.0 is not
0.0, there is one NULL, nested values are equal part by part. Each element of a retraction removes
the first equal one. Retracting from nothing leaves nothing. Elements stay in merge order.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.declaration import (
    Accepts,
    Aggregate,
    Fold,
    FoldResult,
    Inputs,
    Parameter,
    Records,
    Settings,
)
from keyfold.aggregates.nested import column_of
from keyfold.kernels.array_tuples import lists_of
from keyfold.kernels.folds.elements import NO_LIMIT, Rules, collected
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.options.values import boolean
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import DataType

DISTINCT = Parameter("distinct", boolean, "false", "Whether each value is collected once.")


def _collapses(element: pa.DataType) -> bool:
    """Whether duplicates in a stored array are removed; nested values and bytes keep theirs."""
    return not (types.is_nested(element) or types.is_binary(element))


def _fold(distinct: bool, inputs: Inputs) -> FoldResult:
    values = inputs.column.values
    rules = Rules(distinct, _collapses(values.type), False, NO_LIMIT)
    return column_of(inputs, collected(inputs.records, lists_of(inputs.column), values, rules))


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
