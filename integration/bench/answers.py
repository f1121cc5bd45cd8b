"""What answers are compared by: counts and sums that every system makes of the same rows."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from integration.bench.data import Shape

if TYPE_CHECKING:  # a process that only reads keyfold's files does without it
    from pyspark.sql import DataFrame

TEXTS, PRODUCTS = 1 << 24, 65521  # PaimonBench.scala has the same


def numbers(values: Sequence[object]) -> list[float]:
    """As JSON holds them; NULL, the sum of no rows, as 0."""
    return [float(str(value or 0)) for value in values]


def sql(shape: Shape) -> list[str]:
    """The expressions, over all rows of a table."""
    found = ["count(*)"]
    for name, kind in shape.columns.items():
        cell = f"crc32(CAST({name} AS BINARY)) % {TEXTS}" if kind == "STRING" else name
        found.append(f"sum({cell})")
    pair = " * ".join(whole(shape))
    return [*found, f"sum({pair} % {PRODUCTS})"]


def whole(shape: Shape) -> list[str]:
    """The first two BIGINT columns: their product shows values that changed rows."""
    return [name for name, kind in shape.columns.items() if kind == "BIGINT"][:2]


def of_frame(frame: DataFrame, shape: Shape) -> list[float]:
    """By Spark."""
    return numbers(frame.selectExpr(*sql(shape)).first() or [])


def of_table(table: pa.Table, shape: Shape) -> list[float]:
    """By plain Python, for few rows."""
    found: list[float] = [float(table.num_rows)]
    rows = table.to_pylist()
    for name, kind in shape.columns.items():
        cells = [row[name] for row in rows]
        texts = kind == "STRING"
        found.append(float(sum(zlib.crc32(c.encode()) % TEXTS if texts else c for c in cells)))
    one, *other = whole(shape)
    products = [row[one] * (row[other[0]] if other else 1) % PRODUCTS for row in rows]
    return [*found, float(sum(products))]
