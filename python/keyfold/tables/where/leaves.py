"""Comparisons of a column with constants, as predicates that are exact.

A constant becomes one of the column's own type. A number between two values of the type, or beyond
them, becomes a comparison with its neighbours: for whole numbers `v > 5.5` is `v >= 6`.
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from keyfold.errors import TableError
from keyfold.types.literals import Constant
from keyfold.types.logical import Atomic, describe, name_of
from keyfold.types.type_table import INTEGERS, TEXTS, Family
from keyfold.wire.layout import Column
from keyfold.wire.predicates import Named, Part, Predicate

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EXACT = Context(prec=400)
_EPOCH = datetime.datetime(1970, 1, 1)
_MICRO = datetime.timedelta(microseconds=1)


def node(op: str, *args: Part) -> Predicate:
    """A predicate."""
    return Predicate(op, args)


def compared(column: Column, op: str, value: Any) -> Predicate:
    """`column op value`, NULL and constants of another type included. Raises TableError if a column
    of that type is not compared with such a constant.
    """
    kind = _atomic(column)
    if value is not None and kind.name in (*INTEGERS, "DECIMAL"):
        return _of_number(column, kind, op, _number(column, value))
    if value is not None and kind.name == "FLOAT" and not _is_single(value):
        return _neighbours(column, op, *_singles(float(value)))
    return node(op, _column(column), literal(column, value))


def among(column: Column, values: Sequence[Any]) -> Predicate:
    """`column IN (values)`; numbers that the column can't hold are left out."""
    kind, kept = _atomic(column), list(values)
    if kind.name in (*INTEGERS, "DECIMAL"):
        kept = [v for v in kept if v is None or _fits(kind, _number(column, v))]
    elif kind.name == "FLOAT":
        kept = [v for v in kept if v is None or _is_single(v)]
    found = node("IN", _column(column), *(literal(column, value) for value in kept))
    # of a list without a value that fits, NULL is NULL and all else is not among it
    return found if kept or not values else node("<", _column(column), _least(column))


def holds(column: Column, value: Any) -> bool:
    """Whether the column can hold a constant that it is compared with: of whole numbers and
    decimals not all, as their digits end.
    """
    kind = _atomic(column)
    is_bounded = value is not None and kind.name in (*INTEGERS, "DECIMAL")
    return not is_bounded or _fits(kind, _number(column, value))


def is_null(column: Column) -> Predicate:
    """`column IS NULL`, of any type."""
    return node("IS_NULL", _column(column))


def starts_with(column: Column, prefix: str) -> Predicate:
    """`column LIKE 'prefix%'`."""
    return node("STARTS_WITH", _column(column), Constant(prefix, "string"))


def is_boolean(column: Column) -> bool:
    """Whether the column alone is a condition."""
    return name_of(column.type) == "BOOLEAN"


def is_true(column: Column) -> Predicate:
    """A BOOLEAN column as a condition."""
    return compared(column, "=", True)


def like(column: Column, pattern: str) -> Predicate:
    """`column LIKE 'pattern'`, where \\ escapes. Raises TableError if the column is not a text."""
    if _atomic(column).name not in TEXTS:
        raise TableError(f"column {column.name} has no LIKE: its type is {_shown(column)}")
    inner = pattern.strip("%")
    text = Constant(inner, "string")
    if {"%", "_", "\\"} & set(inner) or not inner or _atomic(column).name == "CHAR":
        return node("LIKE", _column(column), Constant(pattern, "string"))
    ends = pattern.startswith("%"), pattern.endswith("%")
    op = {(False, True): "STARTS_WITH", (True, False): "ENDS_WITH", (True, True): "CONTAINS"}
    return node(op.get(ends, "="), _column(column), text)


def literal(column: Column, value: Any) -> Constant:
    """A constant of the column's type. Raises TableError if it is not one."""
    kind = _atomic(column)
    spelled = kind.spelled(kind.facts.spark)
    if value is None:
        return Constant(None, spelled)
    try:
        found = _CONVERSIONS[kind.facts.family](value, kind)
    except (ValueError, TypeError, ArithmeticError):
        found = None
    if found is None:
        raise TableError(
            f"column {column.name}, of type {_shown(column)}, can't be compared with {value!r}"
        )
    return Constant(found, spelled)


def _column(column: Column) -> Named:
    return Named((column.name,))


def _shown(column: Column) -> str:
    return describe(column.type)


def _atomic(column: Column) -> Atomic:
    if not isinstance(column.type, Atomic):
        raise TableError(
            f"column {column.name}, of type {_shown(column)}, can only be compared by IS NULL"
        )
    return column.type


def _number(column: Column, value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TableError(
            f"column {column.name}, of type {_shown(column)}, can't be compared with {value!r}"
        )
    found = Decimal(value)
    if found.is_nan():
        raise TableError(f"column {column.name}, of type {_shown(column)}, never is NaN")
    return found


def _range(kind: Atomic) -> tuple[int, int, int]:
    """The least and greatest value in units of the last digit, and the digits behind the dot."""
    if kind.name == "DECIMAL":
        most = 10 ** (kind.length or 0) - 1
        return -most, most, kind.scale or 0
    most = 1 << (INTEGERS[kind.name] - 1)
    return -most, most - 1, 0


def _floor(number: Decimal, scale: int) -> tuple[int, bool]:
    """The units at or below a finite number, and whether they are it."""
    units = _EXACT.scaleb(number, scale)
    low = units.to_integral_value(ROUND_FLOOR, _EXACT)
    return int(low), low == units


def _fits(kind: Atomic, number: Decimal) -> bool:
    low, high, scale = _range(kind)
    if not number.is_finite():
        return False
    units, is_exact = _floor(number, scale)
    return is_exact and low <= units <= high


def _of_number(column: Column, kind: Atomic, op: str, number: Decimal) -> Predicate:
    """A comparison with values that the column can hold, true of the same rows."""
    low, high, scale = _range(kind)
    if number.is_finite():
        units, is_exact = _floor(number, scale)
    else:
        units, is_exact = (high if number > 0 else low - 1), False

    def value(units: int) -> Decimal | None:
        return _EXACT.scaleb(Decimal(units), -scale) if low <= units <= high else None

    if is_exact and value(units) is not None:
        return node(op, _column(column), literal(column, value(units)))
    units = min(max(units, low - 1), high)
    return _neighbours(column, op, value(units), value(units + 1))


def _neighbours(column: Column, op: str, under: Any, over: Any) -> Predicate:
    """A comparison with a number between two neighbouring values of the column, one of which may
    be None: the number is beyond all values.
    """
    if under is None:
        below, above = ("<", over), (">=", over)
    else:
        below, above = ("<=", under), (">", under)
    less, more = (node(op, _column(column), literal(column, of)) for op, of in (below, above))
    match op:
        case "<" | "<=":
            return less
        case ">" | ">=":
            return more
        case "=":
            return node("AND", less, more)
        case "<>":
            return node("OR", less, more)
    return node("AND", node("IS_NOT_NULL", _column(column)), less, more)


def _least(column: Column) -> Any:
    """A constant that no value of a number column is below."""
    kind = _atomic(column)
    if kind.name == "FLOAT":
        return literal(column, float("-inf"))
    low, _, scale = _range(kind)
    return literal(column, _EXACT.scaleb(Decimal(low), -scale))


def _is_single(value: Any) -> bool:
    """Whether FLOAT has the number; also of what is not a number, which `literal` refuses."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return True
    with np.errstate(over="ignore"):
        single = float(np.float32(float(value)))
    return single == float(value) or math.isnan(single)


def _singles(value: float) -> tuple[float | None, float | None]:
    """The FLOATs next below and above a number that is between two."""
    with np.errstate(over="ignore"):
        near = np.float32(value)
        under = near if float(near) < value else np.nextafter(near, np.float32(-np.inf))
        return float(under), float(np.nextafter(under, np.float32(np.inf)))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _floating(value: Any) -> str | None:
    """The text of a double, which may be NaN or infinite."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return repr(float(value)) if is_number else None


def _days(value: Any) -> int | None:
    if isinstance(value, str):
        value = datetime.date.fromisoformat(value.strip())
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        return None
    return value.toordinal() - _EPOCH.toordinal()


def _moment(value: Any) -> datetime.datetime | None:
    if isinstance(value, str):
        text = value.strip()
        value = datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text[-1] in "Zz" else text)
    if isinstance(value, datetime.datetime):
        return value
    is_day = isinstance(value, datetime.date)
    return datetime.datetime.combine(value, datetime.time()) if is_day else None


def _micros(value: Any, kind: Atomic) -> int | None:
    """Microseconds since 1970 in UTC; of a time without a zone, that in UTC. A column without a
    zone is not compared with a time that has one.
    """
    moment = _moment(value)
    if moment is None:
        return None
    if moment.tzinfo is not None:
        if kind.name == "TIMESTAMP":
            return None
        moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (moment - _EPOCH) // _MICRO


def _nanos(value: Any, kind: Atomic) -> int | None:
    """Nanoseconds of a day, if the column has as many digits."""
    if isinstance(value, str):
        value = datetime.time.fromisoformat(value.strip())
    if not isinstance(value, datetime.time) or value.tzinfo is not None:
        return None
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    nanos = (seconds * 1_000_000 + value.microsecond) * 1000
    return None if nanos % 10 ** (9 - (kind.length or 0)) else nanos


def _bytes(value: Any) -> str | None:
    is_bytes = isinstance(value, bytes | bytearray | memoryview)
    return base64.b64encode(bytes(value)).decode() if is_bytes else None


_CONVERSIONS: Mapping[Family, Callable[[Any, Atomic], Any]] = {
    Family.BOOLEAN: lambda value, _: _boolean(value),
    Family.INTEGER: lambda value, _: int(value),
    Family.DECIMAL: lambda value, _: str(value),
    Family.FLOATING: lambda value, _: _floating(value),
    Family.TEXT: lambda value, _: _text(value),
    Family.DATE: lambda value, _: _days(value),
    Family.TIMESTAMP: _micros,
    Family.TIME: _nanos,
    Family.BINARY: lambda value, _: _bytes(value),
}
