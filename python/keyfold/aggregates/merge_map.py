"""merge_map: maps united; the later entry of a key wins (Paimon FieldMergeMapAgg). A retraction
removes its keys, whatever their values.

merge_map_with_keytime: the entry of a key with the greatest time stays (Paimon
FieldMergeMapWithKeyTimeAgg). The time is a STRING field of the map's ROW value, compared by its
bytes. The first map is taken as it is. In later maps a NULL value removes its key, and an entry
without a time changes nothing.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
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
from keyfold.kernels.buffers import Rows, Signs, ones, validity
from keyfold.kernels.folds.keyed import Keyed, kept_by_key
from keyfold.kernels.groups.codes import codes, ranks
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.options.values import word
from keyfold.types.logical import DataType, Map, Row, describe

TS_FIELD = Parameter(
    "ts-field",
    word,
    None,
    "Field of the map's ROW that holds the time; the last.",
    names_fields=True,
)


def _fold(inputs: Inputs) -> FoldResult:
    count = len(inputs.column.values)
    ranks, uses = np.zeros(count, dtype=np.int64), ones(count).view(np.int8)
    return _kept(inputs, ranks, uses, False)


def _fold_by_time(field: str, inputs: Inputs) -> FoldResult:
    items = inputs.column.items
    held = validity(items)
    times = ranks([items.field(field)]) * held
    uses = np.where(held, np.where(times > 0, ADD, SKIP), RETRACT).astype(np.int8)
    return _kept(inputs, times, uses, True)


def _kept(inputs: Inputs, ranks: Rows, uses: Signs, prefers_first: bool) -> FoldResult:
    groups, lists = inputs.records, lists_of(inputs.column)
    found, count = codes([inputs.column.keys])
    keyed = Keyed(found, ranks, uses, prefers_first)
    return column_of(inputs, kept_by_key(groups, lists, keyed, count))


def definition(records: Records) -> Any:
    """The maps as dictionaries, one updated by the next; a list of (key, value) comes out."""
    if len(records) == 1:
        return records[0][1]
    result: dict[Any, Any] | None = None
    for op, entries in records:
        if op == RESET:
            result = None if entries is None else dict(entries)
        elif op == ADD and entries is not None:
            result = {**(result or {}), **dict(entries)}
        elif op == RETRACT and entries is not None and result is not None:
            result = {key: item for key, item in result.items() if key not in dict(entries)}
    return None if result is None else list(result.items())


MERGE_MAP = Fold(
    "merge_map",
    Accepts("'MAP'", types.is_map),
    definition,
    is_retractable=True,
    fold=_fold,
    summary="the maps united; of one key the later entry stays",
    nulls="a NULL map changes nothing, NULL values stay",
    retraction="removes the keys of the retracted map",
)


def definition_by_time(field: str, records: Records) -> Any:
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
    return replace(
        MERGE_MAP_WITH_KEYTIME,
        fold=partial(_fold_by_time, name),
        definition=partial(definition_by_time, name),
    )


MERGE_MAP_WITH_KEYTIME = Fold(
    "merge_map_with_keytime",
    Accepts("'MAP'", types.is_map),
    partial(definition_by_time, ""),
    parameters=(TS_FIELD,),
    bind=_bind,
    refuses=_refuses,
    summary="the maps united; of one key the entry with the greatest time stays",
    nulls="a NULL map changes nothing, a NULL value removes its key, a NULL time is passed over",
    retraction="refused",
)
