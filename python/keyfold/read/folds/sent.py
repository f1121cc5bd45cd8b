"""States of groups as Spark takes them: sums of decimals in the digits of their column.

Spark casts the sum of a part of the rows to the type of the column before it goes on adding, and a
sum that does not fit would become NULL, or an error. So such a sum is sent in several rows of its
group, each of which fits. They are never more than the rows that were summed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.read.folds.scan_aggregates import ScanAggregate, nothing
from keyfold.types.literals import unscaled

MOST_ROWS = 1 << 17


def sent(chosen: Sequence[ScanAggregate], batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch of columns of the group, then of states, as batches of the types that are sent."""
    by = batch.num_columns - len(chosen)
    for place, function in enumerate(chosen, by):
        if function.state == function.sent:
            continue
        beyond = _beyond(batch.column(place), function)
        if len(beyond):
            yield from _pieces(chosen, batch, place, beyond)
            rest = [
                _rest(value, function) for value in batch.column(place).take(beyond).to_pylist()
            ]
            batch = _replaced(batch, place, beyond, pa.array(rest, function.state))
    for start in range(0, batch.num_rows, MOST_ROWS):
        yield _typed(chosen, batch.slice(start, MOST_ROWS))


def _decimal(unscaled: int, kind: pa.DataType) -> Decimal:
    """A value of a type of decimals, of any number of digits, from its number of least units."""
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -kind.scale))


def _most(kind: pa.DataType) -> int:
    """The greatest value of a type of decimals, in least units."""
    return int(10**kind.precision) - 1


def _beyond(column: pa.Array, function: ScanAggregate) -> pa.Array:
    """The rows whose value does not fit what is sent."""
    kind, most = function.state, _most(function.sent)
    high, low = (pa.scalar(_decimal(end, kind), kind) for end in (most, -most))
    return pc.indices_nonzero(pc.or_(pc.greater(column, high), pc.less(column, low)))


def _rest(value: Decimal, function: ScanAggregate) -> Decimal:
    """The part of a value that is not a multiple of the greatest that fits."""
    number = unscaled(value)
    rest = abs(number) % _most(function.sent)
    return _decimal(rest if number > 0 else -rest, function.state)


def _pieces(
    chosen: Sequence[ScanAggregate], batch: pa.RecordBatch, place: int, beyond: pa.Array
) -> Iterator[pa.RecordBatch]:
    """Rows of the greatest or the least value, which add up to what `_rest` leaves out."""
    by = batch.num_columns - len(chosen)
    function = chosen[place - by]
    most = _most(function.sent)
    for row in beyond.to_pylist():
        number = unscaled(batch.column(place)[row].as_py())
        one = _decimal(most if number > 0 else -most, function.state)
        group = [batch.column(at).slice(row, 1) for at in range(by)]
        states = [
            pa.array([one], function.state) if at == place else nothing(other)
            for at, other in enumerate(chosen, by)
        ]
        piece = pa.RecordBatch.from_arrays([*group, *states], schema=batch.schema)
        left = abs(number) // most
        while left:
            rows = np.zeros(min(left, MOST_ROWS), dtype=np.int64)
            yield _typed(chosen, piece.take(pa.array(rows)))
            left -= len(rows)


def _replaced(
    batch: pa.RecordBatch, place: int, rows: pa.Array, values: pa.Array
) -> pa.RecordBatch:
    flags = np.zeros(batch.num_rows, dtype=np.bool_)
    flags[rows.to_numpy()] = True
    column = pc.replace_with_mask(batch.column(place), pa.array(flags), values)
    return batch.set_column(place, batch.schema.field(place), column)


def _typed(chosen: Sequence[ScanAggregate], batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with decimals of the columns' own digits, which all values fit."""
    by = batch.num_columns - len(chosen)
    for place, function in enumerate(chosen, by):
        column = batch.column(place)
        if function.state != function.sent:
            column = pa.Array.from_buffers(
                function.sent, len(column), column.buffers(), offset=column.offset
            )
            field = pa.field(batch.schema.field(place).name, function.sent)
            batch = batch.set_column(place, field, column)
    return batch
