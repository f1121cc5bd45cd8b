"""nested_update: a nested table, ARRAY<ROW>, whose rows are added, or replaced by their own key
(Paimon FieldNestedUpdateAgg).

With `nested-sequence-field` a row is replaced only by one that is not older; NULL is the oldest. A
retraction removes the rows with its keys; without a key it removes all rows equal to its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from keyfold.aggregates.declaration import (
    Aggregate,
    Fold,
    FoldResult,
    Inputs,
    Parameter,
    Records,
    Settings,
)
from keyfold.aggregates.nested import (
    IS_TABLE,
    NESTED_KEY,
    NULL_STRATEGY,
    NestedKey,
    check_fields,
    column_of,
    nested_key,
    order_of,
)
from keyfold.kernels.array_tuples import lists_of
from keyfold.kernels.buffers import validity
from keyfold.kernels.folds.elements import NO_LIMIT, Rules, collected
from keyfold.kernels.folds.extremes import rank
from keyfold.kernels.folds.keyed import Keyed, kept_by_key
from keyfold.kernels.groups.codes import codes
from keyfold.kernels.ops import RESET, RETRACT, SKIP
from keyfold.options.values import names, whole
from keyfold.types.logical import DataType

SEQUENCE = Parameter(
    "nested-sequence-field",
    names,
    None,
    "Fields that say which of two nested rows is newer.",
    names_fields=True,
)
LIMIT = Parameter("count-limit", whole(0), None, "Most nested rows that are kept.")
_NEEDS = (
    "Option 'fields.<field-name>.{}' requires 'fields.<field-name>.nested-key' to be configured."
)


@dataclass(frozen=True)
class _Table:
    key: NestedKey | None
    sequence: tuple[str, ...] = ()
    limit: int = NO_LIMIT


def _fold(table: _Table, inputs: Inputs) -> FoldResult:
    rows, groups, lists = inputs.column.values, inputs.records, lists_of(inputs.column)
    if table.key is None:
        rules = Rules(False, False, True, table.limit)
        return column_of(inputs, collected(groups, lists, rows, rules, validity(rows)))
    uses = table.key.used(inputs).view(np.int8)
    found, count = codes(table.key.columns(inputs))
    keyed = Keyed(found, order_of(rows, table.sequence), uses, limit=table.limit)
    return column_of(inputs, kept_by_key(groups, lists, keyed, count))


def definition(table: _Table, records: Records) -> Any:
    """Row by row over plain lists and dictionaries."""
    if len(records) == 1:
        return records[0][1]
    result: list[Any] | None = None
    for op, rows in records:
        if op == RESET:
            result = None
        if op == SKIP or rows is None or (op == RETRACT and result is None):
            continue
        result = result or []
        for row in rows:
            if row is not None:
                result = _apply(table, result, row, op == RETRACT)
    return result


def _apply(table: _Table, result: list[Any], row: dict[str, Any], is_retract: bool) -> list[Any]:
    if table.key is None:
        if is_retract:
            return [other for other in result if repr(other) != repr(row)]
        return [*result, row] if len(result) < table.limit else result
    key = table.key.of(row)
    if key is None:
        return result
    found = [repr(table.key.of(other)) for other in result]
    if repr(key) not in found:
        return [*result, row] if not is_retract and len(result) < table.limit else result
    place = found.index(repr(key))
    if is_retract:
        return result[:place] + result[place + 1 :]
    is_newer = _sequence(table, row) >= _sequence(table, result[place])
    return [*result[:place], row, *result[place + 1 :]] if is_newer else result


def _sequence(table: _Table, row: Mapping[str, Any]) -> list[Any]:
    parts = [row[name] for name in table.sequence]
    return [(part is not None, None if part is None else rank(part)) for part in parts]


def _bind(settings: Settings, kind: DataType) -> Aggregate:
    key = nested_key(settings)
    for parameter in (SEQUENCE, NULL_STRATEGY):
        if key is None and settings[parameter.name] is not None:
            raise ValueError(_NEEDS.format(parameter.name))
    sequence, limit = settings[SEQUENCE.name] or (), settings[LIMIT.name]
    check_fields(kind, NESTED_KEY.name, key.fields if key else ())
    check_fields(kind, SEQUENCE.name, sequence)
    table = _Table(key, sequence, NO_LIMIT if limit is None else limit)
    return replace(DECLARED, fold=partial(_fold, table), definition=partial(definition, table))


DECLARED = Fold(
    "nested_update",
    IS_TABLE,
    partial(definition, _Table(None)),
    is_retractable=True,
    fold=partial(_fold, _Table(None)),
    parameters=(NESTED_KEY, SEQUENCE, NULL_STRATEGY, LIMIT),
    bind=_bind,
    summary="a nested table: rows are added, or with a nested key replaced by their key",
    nulls="a NULL array changes nothing, NULL rows are dropped",
    retraction="removes the rows with its keys, without a nested key all equal rows",
)
