"""nested_partial_update: rows of a nested table with one key are merged field by field. The last
value that is not NULL stays (Paimon FieldNestedPartialUpdateAgg).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import Aggregate, Fold, FoldResult, Inputs, Records, Settings
from keyfold.aggregates.nested import (
    IS_TABLE,
    NESTED_KEY,
    NULL_STRATEGY,
    NestedKey,
    check_fields,
    nested_key,
    table_of,
)
from keyfold.kernels.array_tuples import lists_of
from keyfold.kernels.buffers import Mask, validity
from keyfold.kernels.folds.keyed import Keyed, kept_by_key, last_valid_in_place
from keyfold.kernels.groups.codes import codes
from keyfold.kernels.ops import ADD, RESET
from keyfold.types.logical import DataType


def _fold(key: NestedKey, inputs: Inputs) -> FoldResult:
    rows, groups, lists = inputs.column.values, inputs.records, lists_of(inputs.column)
    found, count = codes(key.columns(inputs))
    ranks, places = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), -1, dtype=np.int64)
    keyed = Keyed(found, ranks, key.used(inputs).view(np.int8))
    kept = kept_by_key(groups, lists, keyed, count, places)

    def picked(valid: Mask) -> pa.Array:
        picks = np.full(kept.bounds[-1], -1, dtype=np.int64)
        last_valid_in_place(groups.order, lists.offsets, places, valid, picks)
        return pa.array(picks, mask=picks < 0)

    fields, is_row = list(rows.type), validity(rows)
    parts = [rows.field(at) for at in range(len(fields))]
    arrays = [part.take(picked(validity(part) & is_row)) for part in parts]
    merged = pa.StructArray.from_arrays(arrays, fields=fields, mask=picked(is_row).is_null())
    return table_of(inputs.column.type, kept, merged)


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
