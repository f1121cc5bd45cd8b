"""The kinds of the rows that a program writes: one for all, or a column of the rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.kernels.ops import KIND_NAMES
from keyfold.merge.kinds import from_text
from keyfold.options.parsing import parse
from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.rows.incoming import Incoming, incoming
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import KIND


def with_kinds(layout: TableLayout, data: Any, kind: str) -> Incoming:
    """The rows of `data`, as `incoming` gives them, with the column `_VALUE_KIND` at the end. It is
    `kind` for all rows, or comes from the column of that name, which is not written itself.

    Raises TableError if there is no such column, the table has one, or has a `rowkind.field`.
    """
    where = f"writing table {layout.name}: row_kind"
    options = parse(layout)
    field = options.rowkind_field
    if field is not None:
        raise TableError(
            f"{where} is {kind!r}, but the kinds are in column {field} (rowkind.field)"
        )
    if kind in KIND_NAMES:
        return _appended(incoming(layout, data), lambda batch: _constant(kind, batch.num_rows))
    if matched((column.name for column in layout.columns), kind) is not None:
        raise TableError(
            f"{where} names column {kind}, which the table has too: give the kinds a column of "
            "another name, or make the table with it as its rowkind.field"
        )
    rows = incoming(layout, data, (kind,))
    if not rows.columns:
        return rows
    if kind not in rows.columns:
        raise TableError(
            f"{where} is {kind!r}; expected one of {', '.join(KIND_NAMES)}, or a column of the "
            f"rows: {', '.join(rows.own)}"
        )

    def kinds(batch: pa.RecordBatch) -> pa.Array:
        name = f"column {kind} of row kinds"
        return from_text(batch.column(kind), layout.name, name, options.rowkind_map)

    found = _appended(rows, kinds)
    return found.select(layout.name, [name for name in found.columns if name != kind])


def _appended(rows: Incoming, kinds: Any) -> Incoming:
    names = [*rows.columns, KIND]
    batches = (
        pa.RecordBatch.from_arrays([*batch.columns, kinds(batch)], names=names)
        for batch in rows.batches
    )
    return Incoming(tuple(names), batches) if rows.columns else rows


def _constant(kind: str, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(KIND_NAMES.index(kind), pa.int8()), rows)
