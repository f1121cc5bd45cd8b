"""Columns with very long values: of these no Parquet statistics are kept and no dictionary is made.

The writer would copy such a value eight times to find the least and the greatest, and then leave
them out: what is longer than 4 KiB never stands in a file. Of a value of 100 MB that is 860 MB
while it is written, 260 MB without. Shorter ones cost the same share of a small cap.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

LONG = 1 << 16


def long_columns(table: pa.Table) -> frozenset[str]:
    """The columns that hold a text or binary of LONG bytes or more, in whatever depth."""
    large = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if column.nbytes >= LONG
    ]
    return frozenset(name for name in large if any(map(_is_long, table[name].chunks)))


def _is_long(column: pa.Array) -> bool:
    longest = (pc.max(pc.binary_length(texts)).as_py() for texts in _texts(column))
    return any(length is not None and length >= LONG for length in longest)


def _texts(column: pa.Array) -> Iterator[pa.Array]:
    """The leaves of a column that are text or binary."""
    kind = column.type
    if pa.types.is_struct(kind):
        for child in column.flatten():
            yield from _texts(child)
    elif pa.types.is_map(kind):
        yield from _texts(column.keys)
        yield from _texts(column.items)
    elif pa.types.is_list(kind):
        yield from _texts(column.flatten())
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        yield column
