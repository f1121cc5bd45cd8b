"""merge_map_with_keytime: maps united, of one key the entry with the greatest time stays (Paimon
FieldMergeMapWithKeyTimeAgg).

The time is a STRING field of the map's ROW value, compared by its bytes. The first map is taken as
it is; later a NULL value removes its key and an entry without a time changes nothing.
"""

from dataclasses import replace
from functools import partial
from typing import Any

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
from keyfold.aggregates.nested import elements_of, table_of
from keyfold.kernels.buffers import validity
from keyfold.kernels.codes import codes, ranks
from keyfold.kernels.entries import newest_by_time, places
from keyfold.kernels.ops import ADD, RESET
from keyfold.options.values import word
from keyfold.types.logical import DataType, Map, Row, describe

TS_FIELD = Parameter(
    "ts-field",
    word,
    None,
    "Field of the map's ROW that holds the time; the last.",
    names_fields=True,
)


def _fold(field: str, inputs: Inputs) -> FoldResult:
    entries, items = inputs.column.values, inputs.column.items
    found, count = codes([inputs.column.keys])
    elements = elements_of(inputs)
    out, bounds, valid = elements.results
    times = ranks([items.field(field)])
    newest_by_time(
        *elements.rows, found, times, validity(items), *places(count), out, bounds, valid
    )
    kept = entries.take(pa.array(out[: bounds[-1]]))
    return FoldResult(table_of(inputs.column.type, bounds, valid, kept))


def definition(field: str, records: Records) -> Any:
    """Dictionaries, entry by entry; a list of (key, value) comes out."""
    result: dict[Any, Any] | None = None
    for op, entries in records:
        if op == RESET or (op == ADD and result is None):
            result = None if entries is None else dict(entries)
        elif op == ADD and entries is not None:
            assert result is not None
            for key, item in entries:
                _put(result, key, item, field)
    return None if result is None else list(result.items())


def _put(result: dict[Any, Any], key: Any, item: Any, field: str) -> None:
    if item is None:
        result.pop(key, None)
    elif item[field] is not None:
        stored = result.get(key)
        if stored is None or stored[field] is None or item[field].encode() > stored[field].encode():
            result[key] = item


def _refuses(kind: DataType) -> str | None:
    assert isinstance(kind, Map)
    if not isinstance(kind.value, Row):
        return f"Value type of MAP must be ROW but was '{describe(kind.value)}'."
    if len(kind.value.fields) < 2:
        return f"ROW type must have at least 2 fields, it is '{describe(kind.value)}'."
    return None


def _bind(settings: Settings, kind: DataType) -> Aggregate:
    assert isinstance(kind, Map)
    assert isinstance(kind.value, Row)
    fields = {field.name: field.type for field in kind.value.fields}
    name = settings[TS_FIELD.name] or list(fields)[-1]
    if name not in fields:
        raise ValueError(
            f"Timestamp field '{name}' not found in ROW type '{describe(kind.value)}'."
        )
    if getattr(fields[name], "name", None) not in ("STRING", "VARCHAR", "CHAR"):
        raise ValueError(
            f"Timestamp field '{name}' must be a STRING, it is '{describe(fields[name])}'."
        )
    return replace(DECLARED, fold=partial(_fold, name), definition=partial(definition, name))


DECLARED = Fold(
    "merge_map_with_keytime",
    Accepts("'MAP'", types.is_map),
    partial(definition, ""),
    parameters=(TS_FIELD,),
    bind=_bind,
    refuses=_refuses,
    summary="the maps united; of one key the entry with the greatest time stays",
    nulls="a NULL map changes nothing, a NULL value removes its key, a NULL time is passed over",
    retraction="refused",
)
