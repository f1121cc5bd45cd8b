"""Small tables for tests: layouts from a line, records to batches and back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.kernels.ops import KIND_NAMES
from keyfold.merge.kinds import VALUE_KIND
from keyfold.options.unparsed import KEY_NULLABLE
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout

Record = tuple[int, dict[str, Any]]  # row kind, values by column


def layout(
    columns: Mapping[str, Any],
    key: Sequence[str],
    options: Mapping[str, str] | None = None,
    location: str = "/t",
) -> TableLayout:
    """A layout of columns with Paimon types; key columns become NOT NULL, as CREATE makes them."""
    settings = dict(options or {})
    not_null = () if settings.get(KEY_NULLABLE.name) == "true" else key
    made = []
    for number, (name, text) in enumerate(columns.items()):
        kind = paimon_types.from_paimon(text)
        kind = logical.with_nullability(kind, kind.nullable and name not in not_null)
        made.append(Column(number, name, kind))
    return TableLayout("db.t", location, 0, tuple(made), tuple(key), (), settings)


def batch(table: TableLayout, records: Sequence[Record]) -> pa.RecordBatch:
    """One batch of all columns and `_VALUE_KIND`."""
    arrays = [
        pa.array([values[field.name] for _, values in records], field.type)
        for field in table.arrow_schema
    ]
    kinds = pa.array([kind for kind, _ in records], pa.int8())
    return pa.RecordBatch.from_arrays(
        [*arrays, kinds], schema=table.arrow_schema.append(pa.field(VALUE_KIND, pa.int8(), False))
    )


def records(batches: Sequence[pa.RecordBatch]) -> list[Record]:
    """Records of batches; the kind is +I if its column is absent, FLOAT is numpy.float32."""
    found = []
    for part in batches:
        columns = {name: cells(part.column(name)) for name in part.schema.names}
        kinds = columns.pop(VALUE_KIND, [0] * part.num_rows)
        columns = {name: column for name, column in columns.items() if name[0] != "_"}
        for row in range(part.num_rows):
            found.append((kinds[row], {name: column[row] for name, column in columns.items()}))
    return found


def cells(column: pa.Array) -> list[Any]:
    """Python values of a column; FLOAT gives numpy.float32, which adds as FLOAT does."""
    values = column.to_pylist()
    if pa.types.is_float32(column.type):
        return [None if item is None else np.float32(item) for item in values]
    return list(values)


def parse(table: TableLayout, text: str) -> list[Record]:
    """Records written as `+I 1 a null | -D 2 b 3`: a kind, then a word for each column. Columns are
    numbers, BOOLEAN and STRING.
    """
    made = []
    for line in text.split("|"):
        kind, *words = line.split()
        row = {c.name: _cell(c, word) for c, word in zip(table.columns, words, strict=True)}
        made.append((KIND_NAMES.index(kind), row))
    return made


def _cell(column: Column, word: str) -> Any:
    if word == "null":
        return None
    kind = arrow_types.to_arrow(column.type)
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}[word]
    if pa.types.is_floating(kind):
        return float(word)
    return int(word) if pa.types.is_integer(kind) else word


def render(found: Sequence[Record]) -> str:
    """The inverse of `parse`."""
    return " | ".join(
        " ".join([KIND_NAMES[kind], *map(_word, values.values())]) for kind, values in found
    )


def _word(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
