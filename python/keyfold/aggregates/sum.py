"""sum: the sum of the non-null inputs, in the column's own type (Paimon FieldSumAgg; Fluss SUM;
Doris SUM).

Integers and decimals are exact. A result beyond the type's range or digits is an overflow,
whatever the intermediate sums were. FLOAT adds in 32 bit, DOUBLE in 64; infinities and NaN
propagate. A retraction subtracts.
"""

from decimal import Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
from pyarrow import types

from keyfold.aggregates.declaration import NUMERIC, Fold, FoldResult, Inputs, Records
from keyfold.aggregates.group_totals import sums
from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Floats, Mask, Rows, column_of, dtype_of, validity, values
from keyfold.kernels.folds.decimals import beyond, halves, sum_decimals
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.words import values_of_decimal
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP


@kernel("int64(int64[::1], uint8[::1], Groups, int64[::1], uint8[::1])")
def sum_integers(values: Rows, valid: Mask, groups: Groups, out: Rows, out_valid: Mask) -> int:
    """out[g] is the sum of group g; returns the first group whose sum leaves 64 bits, or -1."""
    (ops, order, starts), overflowed = groups, -1
    for g in range(len(out)):
        total, wraps, is_found = np.int64(0), 0, False
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == RESET:
                total, wraps, is_found = np.int64(0), 0, False
            if op != SKIP and valid[row]:
                value = values[row]  # added without signs: a compiler takes signed sums to fit
                before, part = np.uint64(total), np.uint64(value)
                after = np.int64(before - part if op == RETRACT else before + part)
                if ((value < 0) != (op == RETRACT)) != (after < total) and value != 0:
                    wraps += 1 if after < total else -1
                total, is_found = after, True
        out[g], out_valid[g] = total, is_found
        if wraps != 0 and overflowed < 0:
            overflowed = g
    return overflowed


@kernel(
    "void(float32[::1], uint8[::1], Groups, float32[::1], uint8[::1])",
    "void(float64[::1], uint8[::1], Groups, float64[::1], uint8[::1])",
)
def sum_floats(values: Floats, valid: Mask, groups: Groups, out: Floats, out_valid: Mask) -> None:
    """out[g] is the sum of group g, each step rounded to the width of `out`."""
    ops, order, starts = groups
    for g in range(len(out)):
        out[g], out_valid[g] = 0, 0
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == RESET:
                out[g], out_valid[g] = 0, 0
            if op != SKIP and valid[row]:
                value = -values[row] if op == RETRACT else values[row]
                out[g] = out[g] + value if out_valid[g] else value
                out_valid[g] = 1


def _fold(inputs: Inputs) -> FoldResult:
    kind = inputs.column.type
    valid, out_valid = validity(inputs.column), np.zeros(inputs.groups, dtype=np.uint8)
    if types.is_decimal(kind):
        return _decimals(inputs, valid, out_valid)
    if types.is_floating(kind):
        numbers = values(inputs.column, dtype_of(kind))
        out: npt.NDArray[Any] = np.zeros(inputs.groups, dtype=numbers.dtype)
        sum_floats(numbers, valid, inputs.records, out, out_valid)
        return FoldResult(column_of(kind, out, out_valid))
    return _integers(inputs, valid, out_valid)


def _integers(inputs: Inputs, valid: Mask, out_valid: Mask) -> FoldResult:
    own = dtype_of(inputs.column.type)
    numbers = values(inputs.column, own).astype(np.int64, copy=False)
    out = np.zeros(inputs.groups, dtype=np.int64)
    overflowed = sum_integers(numbers, valid, inputs.records, out, out_valid)
    if overflowed < 0 and own != np.int64:
        limits = np.iinfo(own)
        outside = np.flatnonzero((out < limits.min) | (out > limits.max))
        overflowed = int(outside[0]) if len(outside) else -1
    return FoldResult(
        column_of(inputs.column.type, out.astype(own, copy=False), out_valid), overflowed
    )


def _decimals(inputs: Inputs, valid: Mask, out_valid: Mask) -> FoldResult:
    out = np.empty((inputs.groups, 2), dtype=np.uint64)
    doubled = values_of_decimal(inputs.column)
    overflowed = sum_decimals(doubled, valid, inputs.records, out, out_valid)
    if overflowed < 0:
        overflowed = beyond(out, *halves(10**inputs.column.type.precision))
    return FoldResult(column_of(inputs.column.type, out, out_valid), overflowed)


def definition(records: Records) -> Any:
    """The plain sum; exact for integers and decimals, in 64 bit for floats."""
    exact = Context(prec=100)
    result: Any = None
    for op, value in records:
        if op == RESET:
            result = value
        elif value is not None and op in (ADD, RETRACT):
            signed = (
                value if op == ADD else exact.minus(value) if isinstance(value, Decimal) else -value
            )
            if result is None:
                result = signed
            else:
                result = (
                    exact.add(result, signed) if isinstance(signed, Decimal) else result + signed
                )
    return result


SUM = Fold(
    "sum",
    NUMERIC,
    definition,
    is_retractable=True,
    retracts_alone=True,
    reversal="append",
    fold=_fold,
    over_records="SUM",
    running=sums,
    summary="the sum; beyond the column's type the merge fails and says how to widen it",
    nulls="ignored",
    retraction="subtracts",
)
