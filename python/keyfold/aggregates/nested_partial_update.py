"""nested_partial_update: rows of a nested table with one key are merged field by field, the last
value that is not NULL stays (Paimon FieldNestedPartialUpdateAgg).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declare import Aggregate, Fold, FoldResult, Inputs, Records, Settings
from keyfold.aggregates.nested import (
    IS_TABLE,
    NESTED_KEY,
    NULL_STRATEGY,
    NestedKey,
    check_fields,
    elements_of,
    nested_key,
    table_of,
)
from keyfold.kernels.buffers import Rows, validity
from keyfold.kernels.entries import last_valid_in_slot, places, slots_by_key
from keyfold.kernels.ops import ADD, RESET
from keyfold.types.logical import DataType


def _fold(key: NestedKey, inputs: Inputs) -> FoldResult:
    rows, elements = inputs.column.values, elements_of(inputs)
    found, count, used = key.elements(inputs, rows)
    _, bounds, valid = elements.results
    slots = np.full(len(rows), -1, dtype=np.int64)
    slots_by_key(*elements.rows, found, *places(count), slots, bounds, valid, used)
    merged = _merged(rows, inputs.order, elements.offsets, slots, int(bounds[-1]))
    return FoldResult(table_of(inputs.column.type, bounds, valid, merged))


def _merged(rows: pa.StructArray, order: Rows, offsets: Rows, slots: Rows, count: int) -> pa.Array:
    """One row a slot: of each field the last value that is not NULL."""

    def picked(valid: Any) -> pa.Array:
        picks = np.full(count, -1, dtype=np.int64)
        last_valid_in_slot(order, offsets, slots, valid, picks)
        return pa.array(picks, mask=picks < 0)

    fields = list(rows.type)
    parts = [rows.field(place) for place in range(len(fields))]
    arrays = [part.take(picked(validity(part) & validity(rows))) for part in parts]
    missing = picked(validity(rows)).is_null()
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=missing)


def definition(key: NestedKey, records: Records) -> Any:
    """Field by field over dictionaries by nested key."""
    if len(records) == 1:
        return records[0][1]
    result: dict[str, dict[str, Any]] | None = None
    for op, rows in records:
        if op == RESET:
            result = None
        if op not in (ADD, RESET) or rows is None:
            continue
        result = result or {}
        for row in rows:
            own = None if row is None else key.of(row)
            if own is not None:
                stored = result.setdefault(repr(own), dict.fromkeys(row))
                stored.update({name: item for name, item in row.items() if item is not None})
    return None if result is None else list(result.values())


def _bind(settings: Settings, kind: DataType) -> Aggregate:
    key = nested_key(settings)
    if key is None:
        raise ValueError(f"nested_partial_update needs 'fields.<field-name>.{NESTED_KEY.name}'")
    check_fields(kind, NESTED_KEY.name, key.fields)
    return _made(key)


def _made(key: NestedKey) -> Fold:
    return replace(DECLARED, fold=partial(_fold, key), definition=partial(definition, key))


_UNBOUND = NestedKey((), "merge")
DECLARED = Fold(
    "nested_partial_update",
    IS_TABLE,
    partial(definition, _UNBOUND),
    parameters=(NESTED_KEY, NULL_STRATEGY),
    bind=_bind,
    summary="a nested table: rows of one nested key are merged, field by field",
    nulls="a NULL array, row or field changes nothing",
    retraction="refused",
)
