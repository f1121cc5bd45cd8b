"""The tables that Spark's AUTO CDC flows keep beside their targets. Spark creates them without a
key and notes in properties what tells their rows apart.

Under SCD type 1 those are the keys of the flow. Under type 2 a key has several rows, told apart by
`__RECORD_START_AT`, a field of the column `__spark_autocdc_metadata`. A key takes no part of a
struct, so the table stores that field once more, as the last column of its key. Spark sees the
struct in its place: then rows that it deletes come with the struct, and nothing else has to know.
The names are those of Spark 4.3's `Scd2BatchProcessor`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from keyfold.errors import NotSupportedError, TableError
from keyfold.options.declared import PIPELINES_PREFIX
from keyfold.wire.layout import TableLayout

KEYS_OF_CDC = f"{PIPELINES_PREFIX}autocdc.keyColumnNames"
_TYPE = f"{PIPELINES_PREFIX}autocdc.scdType"
_FIELD = "__RECORD_START_AT"
_START = "__START_AT"
METADATA = "__spark_autocdc_metadata"


def row_key(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """The key of the rows of a flow's own table, if properties name the keys of the flow. Raises
    TableError if their list can't be read.
    """
    text = properties.get(KEYS_OF_CDC)
    if text is None:
        return None
    try:
        keys = tuple(map(str, json.loads(text)))
    except (ValueError, TypeError):
        raise TableError(
            f"option {KEYS_OF_CDC}: expected a JSON array of names, found '{text}'"
        ) from None
    return (*keys, _FIELD) if keeps_versions(properties) else keys


def keeps_versions(options: Mapping[str, str]) -> bool:
    """Whether the table has several rows of a key, told apart by a field of a struct."""
    return KEYS_OF_CDC in options and options.get(_TYPE) == "SCD2"


def field_in_key(layout: TableLayout) -> tuple[str, str] | None:
    """The column of the key that repeats a field, and the column of the struct that has it; None
    if there is none.
    """
    is_one = keeps_versions(layout.options) and layout.primary_key[-1:] == (_FIELD,)
    return (_FIELD, METADATA) if is_one else None


def as_seen(layout: TableLayout) -> TableLayout:
    """The layout as Spark sees it: with the struct in the key, without the repeated field."""
    found = field_in_key(layout)
    if found is None:
        return layout
    own, struct = found
    columns = tuple(column for column in layout.columns if column.name != own)
    return replace(layout, columns=columns, primary_key=(*layout.primary_key[:-1], struct))


def with_field_in_key(name: str, columns: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Columns of the wire with the repeated field behind them, and without NULL in the struct.

    Raises TableError if there is no such struct, and NotSupportedError if the field is no atom.
    """
    for column in columns:
        kind = column["type"]
        inner = kind.get("fields", ()) if isinstance(kind, Mapping) else ()
        found = [one["type"] for one in inner if one["name"] == _FIELD]
        if column["name"] != METADATA or not found:
            continue
        if not isinstance(found[0], str):
            raise NotSupportedError(
                f"table {name}: the sequence of an AUTO CDC flow of SCD type 2 is part of the key "
                f"here, so its type must be atomic, it is {found[0]['type'].upper()}; set "
                "sequence_by (in SQL: SEQUENCE BY) to one column of a time or a number"
            )
        made = [{**one, "nullable": False} if one is column else one for one in columns]
        return [*made, {"name": _FIELD, "type": found[0], "nullable": False}]
    raise TableError(
        f"table {name}: property {_TYPE} is SCD2, so column {METADATA} should be a struct with "
        f"the field {_FIELD}; it is not there"
    )


def bucketing(
    columns: Sequence[str],
    key: Sequence[str],
    partitioning: Sequence[str],
    options: Mapping[str, str],
) -> dict[str, str]:
    """The options that place the rows of a flow of SCD type 2: all versions of a key in one
    bucket of their partition, where they are looked up together. Empty for other tables, and if
    `options` say it. Dynamic buckets go by the whole key, and nothing needs versions together.
    """
    is_flow = METADATA in columns and tuple(key[-1:]) in ((_START,), (_FIELD,))
    names = [name for name in key[:-1] if name not in partitioning]
    is_open = "bucket-key" not in options and options["bucket"] != "-1"
    return {"bucket-key": ",".join(names)} if is_flow and names and is_open else {}
