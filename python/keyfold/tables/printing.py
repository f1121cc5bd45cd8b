"""Rows that a command prints: as lines of JSON, which `upsert` reads back, or as a table."""

from __future__ import annotations

import base64
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

Rows = Iterable[Mapping[str, Any]]
_WIDEST = 60
_YEAR = re.compile(r"^-[0-9]+")
_SHOWN = 1000  # rows that a table is made of; more begin another one


def listed(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows in Python's classes; columns of times that Python does not have are texts."""
    columns = [_values(column) for column in batch.columns]
    names = batch.schema.names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(array: pa.Array) -> list[Any]:
    try:
        found: list[Any] = array.to_pylist()
    except (ValueError, OverflowError):  # years before 1 or after 9999
        return _far(array)
    return found


def _far(array: pa.Array) -> list[Any]:
    if types.is_map(array.type):
        keys, items = _far(array.keys), _far(array.items)
        return _parted(array, list(zip(keys, items, strict=True)))
    if types.is_list(array.type):
        return _parted(array, _far(array.values))
    if types.is_struct(array.type):
        parts = [_far(array.field(place)) for place in range(array.type.num_fields)]
        names = [field.name for field in array.type]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]
        return [row if one.is_valid else None for row, one in zip(rows, array, strict=True)]
    if types.is_date(array.type) or types.is_timestamp(array.type):
        return _texts_of_times(array)
    found: list[Any] = array.to_pylist()
    return found


def _texts_of_times(array: pa.Array) -> list[str | None]:
    """In the form of ISO, with four digits of the year at least, as Spark reads them."""
    texts = np.datetime_as_string(array.to_numpy(zero_copy_only=False))
    end = "Z" if types.is_timestamp(array.type) and array.type.tz else ""
    padded = (_YEAR.sub(lambda found: found[0].zfill(5), text) + end for text in texts.tolist())
    return [text if one.is_valid else None for text, one in zip(padded, array, strict=True)]


def _parted(array: pa.Array, values: list[Any]) -> list[Any]:
    offsets = array.offsets.to_pylist()
    ends = zip(offsets, offsets[1:], array, strict=False)
    return [values[start:end] if one.is_valid else None for start, end, one in ends]


def print_json(rows: Rows) -> None:
    """A line of JSON for each row."""
    is_ascii = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    for row in rows:
        try:
            text = json.dumps(row, default=_plain, ensure_ascii=is_ascii, allow_nan=False)
        except ValueError:
            text = json.dumps(_finite(row), default=_plain, ensure_ascii=is_ascii)
        print(text)


def _plain(value: Any) -> Any:
    """A value that JSON lacks."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, Decimal) else value.isoformat()


def _finite(value: Any) -> Any:
    """A value whose numbers JSON has; texts stand for the others."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"


def print_table(rows: Rows) -> None:
    """A table, whose wide values are cut."""
    held: list[Mapping[str, Any]] = []
    for row in rows:
        held.append(row)
        if len(held) == _SHOWN:
            _print_rows(held)
            held = []
    if held:
        _print_rows(held)


def _print_rows(rows: list[Mapping[str, Any]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    is_number = [
        all(isinstance(row.get(name), int | float | Decimal | None) for row in rows)
        for name in names
    ]
    for line in (names, ["-" * width for width in widths], *cells):
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, is_number, strict=True)
        ]
        print("  ".join(padded).rstrip(), file=sys.stdout)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list | dict | bytes):
        value = json.dumps(value, default=_plain, ensure_ascii=False)
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
