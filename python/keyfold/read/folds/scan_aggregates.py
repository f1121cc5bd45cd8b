"""The functions of a query, as a scan folds them: rows to states, states to one state.

Each row first becomes a state, and states of a group fold to a state of the same type, in any
grouping. So the state of a part of the rows is what Spark's own aggregate goes on with. COUNT is a
number of rows. SUM has the type that Spark adds in. Decimals are summed in 38 digits, and sent in
the column's own (`read/folds/sent.py`). NaN is the greatest number, and -0.0 equals 0.0, as in
Spark.
The state of an aggregate of keyfold or a user is its value so far, if NULL changes nothing.

SUM may be of an expression, whose text is in the column's place (`read/folds/expressions.py`). Rows
of which it can't be computed are sent as they are: VALUE is a column of theirs, NULL in groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.aggregates.declaration import Aggregate as Declared
from keyfold.aggregates.declaration import BadRecord, Inputs
from keyfold.aggregates.group_totals import Overflow
from keyfold.aggregates.min_max import MAX as GREATEST
from keyfold.aggregates.min_max import MIN as LEAST
from keyfold.aggregates.results import column_result
from keyfold.aggregates.sum import SUM as ADDED
from keyfold.group_by.bound import BoundCall
from keyfold.kernels.buffers import column_of, is_text, ones, validity
from keyfold.kernels.folds.extremes import pick_extremes
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.by_code import RowCodes
from keyfold.kernels.keys.comparable import MORE, encode
from keyfold.kernels.ops import ADD
from keyfold.read.folds.expressions import Beyond, Expression, computed, expression, is_expression
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Aggregate

COUNT, SUM, MIN, MAX, VALUE = "COUNT", "SUM", "MIN", "MAX", "VALUE"
EXTREMES = (MIN, MAX)
_FOLDS = {MIN: LEAST, MAX: GREATEST}
MOST_DIGITS = 38


@dataclass(frozen=True)
class ScanAggregate:
    """One function of a query; `name` is its column, None for COUNT(*). Spark gets values of the
    type `sent`. `fold` is the aggregate of keyfold or a user that it is, `computed` the expression
    that it sums.
    """

    op: str
    name: str | None
    state: pa.DataType
    sent: pa.DataType
    fold: Declared | None = field(default=None, compare=False)
    computed: Expression | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is made of."""
        if self.computed is not None:
            return self.computed.columns
        return () if self.name is None else (self.name,)

    def __str__(self) -> str:
        return f"{self.op}({self.computed or self.name or '*'})"


def functions(layout: TableLayout, aggregate: Aggregate) -> tuple[ScanAggregate, ...]:
    """The functions of a query, with their types."""
    return tuple(
        _of_call(op, name, aggregate.calls[op])
        if op in aggregate.calls
        else _function(layout, op, name)
        for op, name in aggregate.functions
        if op != VALUE
    )


def values_of_rows(aggregate: Aggregate) -> tuple[str, ...]:
    """The columns of rows that are sent as they are, which come last."""
    return tuple(name for op, name in aggregate.functions if op == VALUE and name is not None)


def _of_call(op: str, name: str | None, json: Mapping[str, Any]) -> ScanAggregate:
    call = BoundCall.from_json(json)
    return ScanAggregate(op, name, call.arrow_type, call.arrow_type, call.aggregate)


def _function(layout: TableLayout, op: str, name: str | None) -> ScanAggregate:
    if op == COUNT or name is None:
        return ScanAggregate(COUNT, name, pa.int64(), pa.int64())
    if op == SUM and not layout.has_column(name) and is_expression(name):
        made = expression(name)
        return ScanAggregate(op, name, made.kind, made.sent, computed=made)
    kind = layout.column(name).arrow_field.type
    if op in EXTREMES:
        return ScanAggregate(op, name, kind, kind)
    if types.is_decimal(kind):
        return ScanAggregate(op, name, pa.decimal128(MOST_DIGITS, kind.scale), kind)
    added = pa.float64() if types.is_floating(kind) else pa.int64()
    return ScanAggregate(op, name, added, added)


def lifted(function: ScanAggregate, batch: pa.RecordBatch) -> pa.Array:
    """The state of each row of a batch."""
    if function.name is None:
        return column_of(pa.int64(), np.ones(batch.num_rows, np.int64), ones(batch.num_rows))
    column = batch.column(function.name)
    if function.op == COUNT:
        return column_of(pa.int64(), validity(column).astype(np.int64), ones(len(column)))
    if function.op in EXTREMES:
        return column
    return column.cast(function.state) if function.fold else _widened(column, function.state)


def with_expressions(
    chosen: Sequence[ScanAggregate], batch: pa.RecordBatch
) -> pa.RecordBatch | None:
    """The batch and the expressions that are summed, by their texts; None if a value of theirs
    might not fit.
    """
    sums = {f.name: f.computed for f in chosen if f.computed is not None and f.name is not None}
    if not sums:
        return batch
    try:
        columns = computed(list(sums.values()), batch)
    except Beyond:
        return None
    names = [*batch.schema.names, *sums]
    return pa.RecordBatch.from_arrays([*batch.columns, *columns], names=names)


def _widened(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if not types.is_decimal(kind):
        return column.cast(kind)
    return pa.Array.from_buffers(kind, len(column), column.buffers(), offset=column.offset)


def folded(function: ScanAggregate, states: pa.Array, rows: RowCodes) -> pa.Array | None:
    """One state for each group of rows; None if a sum does not fit, or rows can't be folded: Spark
    then folds the rows, and its error names the group.
    """
    if function.fold is not None:
        return _of_fold(function.fold, states, rows)
    if function.op in EXTREMES and len(rows.there) == 1:
        return _extreme(function, states)
    declared = _FOLDS.get(function.op, ADDED)
    assert declared.running is not None
    running = declared.running(states.type)
    if running is None:
        return _in_order(function, states, rows)
    running.add(rows.numbers, states)
    try:
        found = running.column(0, rows.count)
    except Overflow:
        return None
    return found if len(found) == len(rows.there) else take(found, indices(rows.there))


def _of_fold(fold: Declared, states: pa.Array, rows: RowCodes) -> pa.Array | None:
    order, starts = rows.sorted
    inputs = Inputs(states, np.full(len(order), ADD, np.int8), order, starts)
    try:
        found = column_result(fold, inputs)
    except BadRecord:
        return None
    return found.array.cast(states.type) if found.overflowed < 0 else None


def _in_order(function: ScanAggregate, states: pa.Array, rows: RowCodes) -> pa.Array | None:
    order, starts = rows.sorted
    inputs = Inputs(states, ones(len(order)).view(np.int8), order, starts)
    if function.op in EXTREMES:
        picks = pick_extremes(states, inputs.records, is_least=function.op == MIN)
        return take(states, indices(picks))
    sums = ADDED.fold(inputs)
    return sums.array if sums.overflowed < 0 else None


def _extreme(function: ScanAggregate, states: pa.Array) -> pa.Array:
    """The least or greatest of all states. Arrow's own passes over NaN, and takes long for text."""
    kind = states.type
    if not types.is_floating(kind) and not is_text(kind):
        return pa.repeat(pc.min_max(states)[function.op.lower()], 1)
    known = states.drop_null()
    if not len(known):
        return pa.nulls(1, kind)
    keys = encode([known])
    best = keys.words.min() if function.op == MIN else keys.words.max()
    rows = np.flatnonzero(keys.words == best)
    if len(rows) == 1 or not keys.is_wide or best & np.uint64(255) < MORE:
        return known.slice(int(rows[0]), 1)
    return pa.repeat(pc.min_max(known.take(pa.array(rows)))[function.op.lower()], 1)


def nothing(function: ScanAggregate) -> pa.Array:
    """The state of no rows."""
    return pa.array([0 if function.op == COUNT else None], function.state)
