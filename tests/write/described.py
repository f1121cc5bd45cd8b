"""What the descriptions of written files say, as values."""

from collections.abc import Sequence
from typing import Any

from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.types import logical
from keyfold.types.literals import arrow_array
from keyfold.wire.layout import TableLayout
from keyfold.wire.row_stats import RowStats
from keyfold.wire.specs import FileMeta


def keys_of(layout: TableLayout, file: FileMeta) -> dict[str, list[Any]]:
    """The first and the last key, by column."""
    return _columns(layout, layout.key, *file.keys)


def key_stats_of(layout: TableLayout, file: FileMeta) -> dict[str, list[Any]]:
    """The least and the greatest value of each key column."""
    return _bounds(layout, layout.key, file.key_stats)


def value_stats_of(layout: TableLayout, file: FileMeta) -> dict[str, list[Any]]:
    """The least and the greatest value of each column that statistics are kept of."""
    names = file.value_stats_columns
    if names is None:
        names = tuple(column.name for column in layout.columns)
    assert all(logical.is_atomic(layout.column(name).type) for name in names)
    return _bounds(layout, names, file.value_stats)


def _bounds(layout: TableLayout, names: Sequence[str], found: RowStats) -> dict[str, list[Any]]:
    assert len(found.nulls) == len(names)
    return _columns(layout, names, found.least, found.greatest)


def _columns(layout: TableLayout, names: Sequence[str], *rows: bytes) -> dict[str, list[Any]]:
    kinds = [layout.column(name).type for name in names]
    values = zip(*(RowCodec.of(kinds).decode(row) for row in rows), strict=True)
    return {
        name: arrow_array(list(column), kind).to_pylist()
        for name, kind, column in zip(names, kinds, values, strict=True)
    }
