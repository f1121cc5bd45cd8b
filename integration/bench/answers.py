"""What answers are compared by: counts and sums that every system makes of the same rows."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integration.bench.data import Shape

if TYPE_CHECKING:  # a process that only reads keyfold's files does without it
    from pyspark.sql import DataFrame

Batches = Iterable[pa.RecordBatch]
TEXTS, PRODUCTS = 1 << 24, 65521  # PaimonBench.scala has the same


def numbers(values: Sequence[object]) -> list[float]:
    """As JSON holds them; NULL, the sum of no rows, as 0."""
    return [float(str(value or 0)) for value in values]


def sql(shape: Shape, checksum: str = "crc32(CAST({} AS BINARY))") -> list[str]:
    """The expressions, over all rows of a table; `checksum` is that of a text."""
    found = ["count(*)"]
    for name, kind in shape.columns.items():
        cell = f"{checksum.format(name)} % {TEXTS}" if kind == "STRING" else name
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


def greatest(batches: Batches) -> list[float]:
    """Touches every cell, as `max` of every column does: what is timed. Answers the rows."""
    rows = 0
    most: dict[str, Any] = {}
    for batch in batches:
        rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            found = most_of(column)
            if found is not None:
                most[name] = max(most.get(name, found), found)
    return [float(rows)]


def most_of(column: pa.Array) -> Any:
    """The greatest cell of a column."""
    return pc.max(column).as_py()


def checked(batches: Batches) -> list[float]:
    """What `sql` says, of batches."""
    sums: list[float] = []
    for batch in batches:
        pair = [column for column in batch.columns if column.type == pa.int64()][:2]
        product = np.prod([column.to_numpy() for column in pair], axis=0) % PRODUCTS
        found = [batch.num_rows, *map(total, batch.columns), int(product.sum())]
        sums = [a + b for a, b in zip(sums or [0.0] * len(found), found, strict=True)]
    return sums


def total(column: pa.Array) -> float:
    """A column's sum; of checksums where it is text."""
    if pa.types.is_string(column.type):
        cells = column.cast(pa.binary()).to_pylist()
        return sum(zlib.crc32(cell) % TEXTS for cell in cells if cell is not None)
    return float(pc.sum(column).as_py() or 0)


FOLDS: dict[str, Callable[[Batches], list[float]]] = {"scan": greatest, "answer": checked}
