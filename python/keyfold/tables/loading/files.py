"""The rows of a file in the form that `upsert` and `delete` take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keyfold.tables.loading import delimited, json_lines, typed
from keyfold.tables.loading.source import source
from keyfold.types.logical import DataType
from keyfold.wire.layout import TableLayout


def rows_of(
    layout: TableLayout,
    path: str,
    format: str | None = None,
    types: Mapping[str, DataType] | None = None,
    null: str | None = None,
) -> Iterator[Any]:
    """The rows of a file, or of standard input if its path is `-`. Raises TableError if it can't be
    read, is not of its format, or a text is not of its type; the message names the line.
    """
    of = source(layout, path, format, types or {}, null)
    if of.format == "csv":
        return delimited.rows_of(layout, of)
    return json_lines.rows_of(layout, of) if of.format == "json" else typed.rows_of(of)
