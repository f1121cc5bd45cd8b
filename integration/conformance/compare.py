"""Rows found against rows expected, as multisets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from integration.conformance import bits, values
from integration.conformance.case import Elements, Estimates, Numbered, Rows

# Three standard errors of a sketch of 4,096 registers: HLL 3 x 1.63 %, theta 3 x 1.56 %.
SKETCH_ERROR = 0.05
SHOWN = 12  # rows of either side in a message


def rows(wanted: Rows, table: pa.Table) -> str | None:
    """What differs, None where nothing does; columns are compared by their place."""
    if any(len(row) != table.num_columns for row in wanted.rows):
        return f"{table.num_columns} columns found: {table.schema.names}"
    kinds = list(table.schema.types)
    try:
        left = [
            [values.expected(c, k) for c, k in zip(row, kinds, strict=True)] for row in wanted.rows
        ]
    except ValueError as refused:
        return f"the types found are {[str(kind) for kind in kinds]}, but {refused}"
    holds_bits = [any(_is_bitmap(row[place]) for row in wanted.rows) for place in range(len(kinds))]
    right = cells(table, holds_bits)
    free = [name in wanted.unordered for name in table.schema.names]
    return _multisets([_settled(row, free) for row in left], [_settled(row, free) for row in right])


def _is_bitmap(cell: Any) -> bool:
    return isinstance(cell, dict) and "bitmap" in cell


def cells(table: pa.Table, holds_bits: Sequence[bool]) -> list[list[Any]]:
    """The rows of a result, in comparable form."""
    columns = [
        [values.found(value, column.type, is_bitmap) for value in column.to_pylist()]
        for column, is_bitmap in zip(table.columns, holds_bits, strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _settled(row: Sequence[Any], free: Sequence[bool]) -> tuple[Any, ...]:
    """The row with the elements of free columns in one order."""
    return tuple(
        tuple(sorted(cell, key=repr)) if is_free and cell is not None else cell
        for cell, is_free in zip(row, free, strict=True)
    )


def _multisets(left: Sequence[Any], right: Sequence[Any]) -> str | None:
    # by their text: a set would take True for 1
    if Counter(map(repr, left)) == Counter(map(repr, right)):
        return None
    return f"expected {shown(left)}\n  found    {shown(right)}"


def shown(found: Sequence[Any]) -> str:
    """Rows for a message, in order, the first few."""
    ordered = sorted(found, key=repr)
    rest = f" … {len(ordered)} rows" if len(ordered) > SHOWN else ""
    return "[" + ", ".join(str(row) for row in ordered[:SHOWN]) + rest + "]"


def elements(wanted: Elements, table: pa.Table) -> str | None:
    """Bitmaps by their bits; the columns are those the expectation names."""
    left = [tuple(tuple(sorted(row[n])) for n in table.schema.names) for row in wanted.rows]
    right = zip(*(map(bits.decode, column.to_pylist()) for column in table.columns), strict=True)
    return _multisets(left, list(right))


def estimates(wanted: Estimates, table: pa.Table) -> str | None:
    """Estimates of sketches, paired by size in each column."""
    for name in table.schema.names:
        left = sorted(row[name] for row in wanted.rows)
        right = sorted(float(value) for value in table.column(name).to_pylist())
        close = len(left) == len(right) and all(map(_is_close, left, right))
        if not close:
            return f"expected {name} to be about {left}\n  found    {right}"
    return None


def numbered(wanted: Numbered, table: pa.Table) -> str | None:
    """What is wrong with the ids of the rows, whose first columns are a key and its id."""
    found = dict(zip(*(column.to_pylist() for column in table.columns[:2]), strict=True))
    of_buckets: dict[int, list[int]] = {}
    for key, bucket in wanted.buckets.items():
        of_buckets.setdefault(bucket, []).append(found.get(key) or 0)
    ranges = [
        {(number - 1) // wanted.at_once: None for number in numbers}
        for numbers in of_buckets.values()
    ]
    is_right = (
        found.keys() == wanted.buckets.keys()
        and len(found) == table.num_rows == len(set(found.values()))
        and sum(map(len, ranges)) == len({number for own in ranges for number in own})
        and all(map(partial(_is_used_up, wanted.at_once), of_buckets.values()))
        and (not wanted.ids or found == wanted.ids)
    )
    return None if is_right else f"expected {wanted}\n  found    {found}"


def _is_used_up(at_once: int, numbers: Sequence[int]) -> bool:
    """Whether a bucket took no number before those below it in its range."""
    own = set(numbers)
    return all(number > 0 for number in own) and all(
        (number - 1) % at_once == 0 or number - 1 in own for number in own
    )


def _is_close(wanted: float, estimate: float) -> bool:
    return abs(wanted - estimate) <= SKETCH_ERROR * wanted


def column_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns that an expectation by name speaks of."""
    return list(rows[0]) if rows else []
