"""Statistics of columns: stored by `sys.analyze`, and given to Spark with the plan of a scan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keyfold.read.row_estimate import most_rows
from keyfold.storage.commits import commit
from keyfold.storage.metadata import table_statistics
from keyfold.storage.metadata.table_statistics import (
    ColumnStatistics,
    TableStatistics,
    number_of,
    text_of,
)
from keyfold.storage.table import Table
from keyfold.types.literals import FLOATING, Constant, value_of
from keyfold.types.logical import DataType, name_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate


def store(table: Table, rows: int, columns: Iterable[Mapping[str, Any]]) -> int | None:
    """Publish the number of rows and the figures of some columns, which keeps those of others that
    were there. Returns the new snapshot, None if the table has no snapshot to analyze.
    """
    if table.snapshot_id is None:
        return None
    before = _stored(table)
    kept = {} if before is None else _by_name(table.layout, before)
    found = {one["name"]: _column(table.layout, one) for one in columns}
    files = table.live_files()
    stored = sum(file.rows for file in files)
    size = sum(file.size for file in files) * rows // max(stored, 1)
    statistics = TableStatistics(
        table.snapshot_id, table.layout.schema_id, rows, size, kept | found
    )
    return commit.analyze(table, statistics)


def _column(layout: TableLayout, told: Mapping[str, Any]) -> ColumnStatistics:
    column = layout.column(told["name"])

    def text(literal: Mapping[str, Any] | None) -> str | None:
        return None if literal is None else text_of(_value(literal, column.type), column.type)

    return ColumnStatistics(
        column.id,
        told["distinct"],
        text(told["low"]),
        text(told["high"]),
        told["nulls"],
        told["average"],
        told["longest"],
    )


def _value(literal: Mapping[str, Any], kind: DataType) -> Any:
    value = value_of(Constant.from_json(literal), kind)
    if name_of(kind) in FLOATING and value is not None:
        return math.nan if value[0] else value[1]
    return value


def of_scan(
    table: Table, columns: Iterable[str], rows: int, decided: Sequence[Predicate] = ()
) -> dict[str, Any] | None:
    """The figures of a scan that reads `rows` stored rows, for some columns, after the conditions
    that it decides alone; None if nothing more is known of it. Since the table was analyzed the
    number of rows may have changed: counts of rows change with it, values and lengths stay.
    """
    found, most = _stored(table), most_rows(table.layout, decided)
    if found is None or found.rows is None:
        return {"rows": int(most)} if most < rows else None
    known = _by_name(table.layout, found)
    then = _rows_stored(table, found)
    merged = int(min(rows, rows * found.rows // max(then, 1), most))
    return {
        "rows": merged,
        "columns": {
            name: _scaled(known[name], table.layout.column(name).type, merged, found.rows)
            for name in columns
            if name in known
        },
    }


def _scaled(column: ColumnStatistics, kind: DataType, rows: int, before: int) -> dict[str, Any]:
    nulls = column.nulls
    return {
        "distinct": None if column.distinct is None else min(column.distinct, rows),
        "low": number_of(column.low, kind),
        "high": number_of(column.high, kind),
        "nulls": None if nulls is None else min(nulls * rows // max(before, 1), rows),
        "average": column.average_bytes,
        "longest": column.most_bytes,
    }


def _stored(table: Table) -> TableStatistics | None:
    snapshot = table.snapshot
    name = None if snapshot is None else snapshot.statistics
    return (name and table_statistics.read(table.files, table.layout.location, name)) or None


def _by_name(layout: TableLayout, found: TableStatistics) -> dict[str, ColumnStatistics]:
    """The columns that are still there, by the names that they have now."""
    by_id = {column.id: column for column in found.columns.values()}
    return {column.name: by_id[column.id] for column in layout.columns if column.id in by_id}


def _rows_stored(table: Table, found: TableStatistics) -> int:
    """The number of stored rows when the table was analyzed; that of now if it is forgotten."""
    then = table.snapshots.find(found.snapshot_id) or table.snapshot
    assert then is not None
    return then.total_record_count or 0
