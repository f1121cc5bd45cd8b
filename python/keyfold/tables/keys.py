"""Look-ups by key: of one row, of many, of all rows that share the leading columns of the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.storage.table import Table
from keyfold.tables.incoming import incoming
from keyfold.tables.where import leaves
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Json


def keys_of(layout: TableLayout, keys: Any) -> pa.RecordBatch:
    """Keys that a user gives, in any form of rows, as one batch of the primary key's columns in the
    table's types. Raises TableError if they have other columns.
    """
    wanted = _primary_key(layout)
    found = incoming(layout, keys)
    if sorted(found.columns) != sorted(wanted):
        raise TableError(
            f"table {layout.name}: expected keys with the columns {', '.join(wanted)}, found "
            f"{', '.join(found.columns) or 'none'}"
        )
    schema = pa.schema([layout.column(name).arrow_field for name in wanted])
    batches = [batch.select(list(wanted)) for batch in found.batches]
    table = pa.Table.from_batches(batches).select(list(wanted)) if batches else schema.empty_table()
    arrays = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(
        [a.combine_chunks() if isinstance(a, pa.ChunkedArray) else a for a in arrays], schema=schema
    )


def _primary_key(layout: TableLayout) -> tuple[str, ...]:
    if not layout.primary_key:
        raise TableError(f"table {layout.name} has no primary key to look up by")
    return layout.primary_key


def prefix_of(layout: TableLayout, given: Mapping[str, Any]) -> list[Json]:
    """Predicates for rows whose columns of the key have these values. Raises TableError if they
    are not the first of the key's columns, the partition's left out.
    """
    _primary_key(layout)
    leading = layout.key[: sum(name in layout.key for name in given)]
    if not given or {*given} - {*layout.partition_keys} != {*leading}:
        raise TableError(
            f"table {layout.name}: expected the first columns of the key "
            f"({', '.join(layout.primary_key)}), found {', '.join(given) or 'none'}"
        )
    return [leaves.compared(layout.column(name), "<=>", value) for name, value in given.items()]


def predicates_of(layout: TableLayout, keys: pa.RecordBatch) -> list[Json]:
    """A predicate that exactly the rows of these keys satisfy."""
    names, rows = keys.schema.names, keys.to_pylist()
    if len(names) == 1:
        return [leaves.among(layout.column(names[0]), [row[names[0]] for row in rows])]
    each = [
        leaves.node(
            "AND", *(leaves.compared(layout.column(name), "<=>", row[name]) for name in names)
        )
        for row in rows
    ]
    return [leaves.node("OR", *each)] if each else [{"op": "ALWAYS_FALSE"}]


def check_columns(table: Table, columns: Sequence[str] | None) -> list[str]:
    """The columns asked for, all if None. Raises TableError if one is unknown."""
    layout = table.layout
    return [layout.column(name).name for name in columns or layout.arrow_schema.names]
