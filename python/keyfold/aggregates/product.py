"""product: the product of the non-null inputs, in the column's own type (Paimon FieldProductAgg;
Fluss PRODUCT).

Integers are exact. A decimal is rounded half up to the column's scale at each step. FLOAT
multiplies in 32 bit, DOUBLE in 64. A step beyond the type's range or digits is an overflow, which
stays one. A retraction divides: integers towards zero, decimals exactly or not at all. Retracting
from nothing leaves nothing.
"""

from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.aggregates.declaration import (
    NUMERIC,
    Aggregate,
    BadRecord,
    Fold,
    FoldResult,
    Inputs,
    Records,
    Settings,
)
from keyfold.kernels.buffers import column_of, dtype_of, validity, values
from keyfold.kernels.folds.products import (
    Scale,
    multiply_decimals,
    multiply_floats,
    multiply_integers,
)
from keyfold.kernels.keys.words import values_of_decimal
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import DataType

_EXACT = Context(prec=200)
_NOT_TERMINATING = "Non-terminating decimal expansion; no exact representable decimal result."


def _fold(inputs: Inputs) -> FoldResult:
    kind = inputs.column.type
    if types.is_decimal(kind):
        return _decimals(inputs)
    if types.is_integer(kind):
        return _integers(inputs)
    numbers = values(inputs.column, dtype_of(kind))
    out = np.empty(inputs.groups, dtype=numbers.dtype)
    valid, out_valid = validity(inputs.column), np.empty(inputs.groups, dtype=np.uint8)
    multiply_floats(numbers, valid, inputs.records, out, out_valid)
    return FoldResult(column_of(kind, out, out_valid))


def _integers(inputs: Inputs) -> FoldResult:
    own = dtype_of(inputs.column.type)
    numbers = values(inputs.column, own).astype(np.int64, copy=False)
    out, failed = np.empty(inputs.groups, dtype=np.int64), np.empty(2, dtype=np.int64)
    valid, out_valid = validity(inputs.column), np.empty(inputs.groups, dtype=np.uint8)
    edges = np.array([np.iinfo(own).min, np.iinfo(own).max], dtype=np.int64)
    multiply_integers(numbers, valid, inputs.records, edges, out, out_valid, failed)
    if failed[1] >= 0:
        raise BadRecord(int(failed[1]), "a retraction can't divide the product: / by zero")
    array = column_of(inputs.column.type, out.astype(own, copy=False), out_valid)
    return FoldResult(array, int(failed[0]))


def _decimals(inputs: Inputs) -> FoldResult:
    kind = inputs.column.type
    out = np.empty((inputs.groups, 2), dtype=np.uint64)
    valid, out_valid = validity(inputs.column), np.empty(inputs.groups, dtype=np.uint8)
    numbers, limits = values_of_decimal(inputs.column), Scale.of(kind.precision, kind.scale)
    overflowed = multiply_decimals(numbers, valid, inputs.records, limits, out, out_valid)
    result = FoldResult(column_of(kind, out, out_valid), overflowed)
    return _with_quotients(inputs, result) if (inputs.ops == RETRACT).any() else result


def _with_quotients(inputs: Inputs, products: FoldResult) -> FoldResult:
    """The products; those with retractions by Python's exact numbers, as quotients are rare."""
    kind, starts = inputs.column.type, inputs.starts
    retracts = np.flatnonzero(inputs.ops == RETRACT)
    groups = np.unique(np.searchsorted(starts, retracts, side="right") - 1).tolist()
    found = [_quotient_of(inputs, group) for group in groups]
    beyond = [is_beyond(item, kind) for item in found]
    overflowed = [group for group, fails in zip(groups, beyond, strict=True) if fails]
    if products.overflowed >= 0 and products.overflowed not in groups:
        overflowed.append(products.overflowed)
    items = [None if fails else item for item, fails in zip(found, beyond, strict=True)]
    mask = np.zeros(inputs.groups, dtype=np.bool_)
    mask[groups] = True
    array = pc.replace_with_mask(products.array, pa.array(mask), pa.array(items, kind))
    return FoldResult(array, min(overflowed, default=-1))


def _quotient_of(inputs: Inputs, group: int) -> Any:
    rows = slice(inputs.starts[group], inputs.starts[group + 1])
    items = inputs.column.take(pa.array(inputs.order[rows])).to_pylist()
    records = list(zip(inputs.ops[rows].tolist(), items, strict=True))
    try:
        return definition(records, inputs.column.type)
    except ArithmeticError as error:
        raise BadRecord(group, f"a retraction can't divide the product: {error}") from error


def is_beyond(item: Any, kind: pa.DataType | None) -> bool:
    """Whether a value does not fit the type; every value fits a float."""
    if item is None or kind is None or types.is_floating(kind):
        return False
    if types.is_decimal(kind):
        return bool(abs(item.scaleb(kind.scale, _EXACT)) >= 10**kind.precision)
    edge = 2 ** (kind.bit_width - 1)
    return not -edge <= item < edge


def definition(records: Records, kind: pa.DataType | None = None) -> Any:
    """The plain product; once beyond the type it stays as it is. Raises ArithmeticError if a
    number can't be divided.
    """
    result: Any = None
    for op, value in records:
        if op == RESET:
            result = value
        elif value is None or op == SKIP or is_beyond(result, kind):
            continue
        elif result is None:
            result = value if op == ADD else None
        else:
            result = _product(result, value) if op == ADD else _quotient(result, value)
    return result


def _product(left: Any, right: Any) -> Any:
    if not isinstance(left, Decimal):
        return left * right
    return _EXACT.multiply(left, right).quantize(right, ROUND_HALF_UP, _EXACT)


def _quotient(left: Any, right: Any) -> Any:
    if isinstance(left, Decimal):
        return _decimal_quotient(left, right)
    if isinstance(left, int):
        if right == 0:
            raise ZeroDivisionError("/ by zero")
        size = abs(left) // abs(right)
        return size if (left < 0) == (right < 0) else -size
    with np.errstate(all="ignore"):
        return np.divide(left, right)


def _decimal_quotient(left: Decimal, right: Decimal) -> Decimal:
    """The quotient as Java's BigDecimal divides, rounded half up to the scale of `right`. The exact
    quotient must have finitely many digits.
    """
    if not right:
        raise ZeroDivisionError("Division by zero" if left else "Division undefined")
    quotient = Fraction(left) / Fraction(right)
    rest = quotient.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    if rest != 1:
        raise ArithmeticError(_NOT_TERMINATING)
    exact = _EXACT.divide(Decimal(quotient.numerator), Decimal(quotient.denominator))
    return exact.quantize(right, ROUND_HALF_UP, _EXACT)


def _bind(settings: Settings, kind: DataType) -> Aggregate:
    return replace(PRODUCT, definition=partial(definition, kind=to_arrow(kind)))


PRODUCT = Fold(
    "product",
    NUMERIC,
    definition,
    is_retractable=True,
    reversal="append",
    bind=_bind,
    fold=_fold,
    summary="the product; DECIMAL rounds half up at each step",
    nulls="ignored",
    retraction="divides: integers towards zero, DECIMAL where the quotient has an end",
)
