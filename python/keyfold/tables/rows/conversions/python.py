"""Values of Python as arrays of a column's type.

Values of one class become an Arrow array that holds them as they are, which is converted by the
rules of all arrays. A column of several classes is put together from an array for each.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.tables.rows.conversions.nested import (
    arrow,
    has_repeated,
    of_lists,
    of_maps,
    of_structs,
    placed,
)
from keyfold.tables.rows.conversions.unfit import Unfit
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Array, Atomic, DataType, Map, Row, with_nullability
from keyfold.types.type_table import FLOATING

_WRONG = (pa.ArrowException, OverflowError, ValueError, TypeError)
_DAYS = np.dtype("datetime64[D]")
_LONG = range(-(1 << 63), 1 << 63)


class _Of(Enum):
    """The Arrow type as which values of some classes become an array."""

    NULL = 0
    BOOLEAN = 1
    WHOLE = 2
    HUGE = 3  # whole, beyond 64 bits
    FLOATING = 4
    DECIMAL = 5
    TEXT = 6
    BYTES = 7
    DATE = 8
    TIME = 9  # one of the next three
    CLOCK = 10  # without an offset
    INSTANT = 11  # whose offset is that of UTC
    ELSEWHERE = 12  # with another offset
    NUMPY_TIME = 13
    SCALAR = 14  # of Arrow
    OTHER = 15
    TIME_OF_DAY = 16


_CLASSES: dict[type, _Of] = {
    type(None): _Of.NULL,
    bool: _Of.BOOLEAN,
    np.bool_: _Of.BOOLEAN,
    int: _Of.WHOLE,
    np.integer: _Of.WHOLE,
    float: _Of.FLOATING,
    np.float64: _Of.FLOATING,
    np.float32: _Of.FLOATING,
    np.float16: _Of.FLOATING,
    Decimal: _Of.DECIMAL,
    str: _Of.TEXT,
    bytes: _Of.BYTES,
    bytearray: _Of.BYTES,
    memoryview: _Of.BYTES,
    datetime.datetime: _Of.TIME,
    datetime.date: _Of.DATE,
    datetime.time: _Of.TIME_OF_DAY,
    np.datetime64: _Of.NUMPY_TIME,
    np.timedelta64: _Of.OTHER,  # which numpy derives from its whole numbers
    pa.Scalar: _Of.SCALAR,
}
_MISSING = ("NAType", "NaTType")  # of pandas


_FOUND: dict[type, _Of] = {}  # of classes that were met


def _class(kind: type) -> _Of:
    found = _FOUND.get(kind)
    if found is None:
        is_missing = kind.__name__ in _MISSING and kind.__module__.partition(".")[0] == "pandas"
        of_base = (_CLASSES[base] for base in kind.__mro__ if base in _CLASSES)
        found = _FOUND[kind] = _Of.NULL if is_missing else next(of_base, _Of.OTHER)
    return found


def python(values: list[Any], kind: DataType, path: str) -> pa.Array:
    """The values in the column's type, whose nested fields may all be NULL. Raises Unfit if it does
    not take one, or a NULL stands where none may be.
    """
    classes = {_class(found) for found in set(map(type, values))}
    if _Of.SCALAR in classes:
        return python([v.as_py() if isinstance(v, pa.Scalar) else v for v in values], kind, path)
    if classes <= {_Of.NULL}:
        return pa.nulls(len(values), to_arrow(kind))
    if _Of.NULL in classes:
        values = [None if _class(type(value)) is _Of.NULL else value for value in values]
    match kind:
        case Array():
            return _lists(values, kind, path)
        case Map():
            return _maps(values, kind, path)
        case Row():
            return _structs(values, kind, path)
        case Atomic():
            return _atoms(values, classes - {_Of.NULL}, kind, path)


def _atoms(values: list[Any], classes: set[_Of], kind: Atomic, path: str) -> pa.Array:
    if len(classes) > 1 or _Of.TIME in classes:
        return _apart(values, kind, path)
    try:
        return _of_one(values, next(iter(classes)), kind, path)
    except OverflowError:
        return _apart(values, kind, path)


def _apart(values: list[Any], kind: Atomic, path: str) -> pa.Array:
    """The values of each class on their own, put back in order."""
    places: dict[_Of, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(_closest(value), []).append(place)
    if len(places) == 1:
        return _of_one(values, next(iter(places)), kind, path)
    found = [_of_one([values[n] for n in of], name, kind, path) for name, of in places.items()]
    order = np.argsort(np.concatenate([np.array(of) for of in places.values()]), kind="stable")
    return pa.concat_arrays(found).take(pa.array(order))


def _closest(value: Any) -> _Of:
    found = _class(type(value))
    if found is _Of.WHOLE and int(value) not in _LONG:
        return _Of.HUGE
    if found is not _Of.TIME:
        return found
    offset = value.utcoffset()
    if offset is None:
        return _Of.CLOCK
    return _Of.ELSEWHERE if offset else _Of.INSTANT


def _of_one(values: list[Any], of: _Of, kind: Atomic, path: str) -> pa.Array:
    """The values of one class, or NULL."""
    if of is _Of.ELSEWHERE and kind.name == "TIMESTAMP":
        raise Unfit(path, kind, values)
    try:
        made = _MADE[of](values, kind)
    except OverflowError:
        if of is _Of.WHOLE:
            raise
        raise Unfit(path, kind, values) from None
    except _WRONG:
        if of is _Of.DECIMAL and len(values) > 1:  # too many digits for one array of Arrow
            return pa.concat_arrays([_of_one([value], of, kind, path) for value in values])
        raise Unfit(path, kind, values) from None
    try:
        return arrow(made, kind, path)
    except Unfit:
        raise Unfit(path, kind, values) from None


def _null(values: list[Any], kind: Atomic) -> pa.Array:
    return pa.nulls(len(values), to_arrow(kind))


def _as(arrow_type: pa.DataType) -> Callable[[list[Any], Atomic], pa.Array]:
    return lambda values, _: pa.array(values, arrow_type)


def _huge(values: list[Any], kind: Atomic) -> pa.Array:
    """Whole numbers beyond 64 bits; floating columns take those that they hold exactly."""
    numbers = [None if value is None else int(value) for value in values]
    if kind.name not in FLOATING:
        return pa.array([None if number is None else Decimal(number) for number in numbers])
    width = np.float32 if kind.name == "FLOAT" else np.float64
    with np.errstate(over="ignore"):
        found = [None if number is None else float(width(float(number))) for number in numbers]
    if found != numbers:
        raise ValueError
    return pa.array(found, pa.float64())


def _times(values: list[Any], _: Atomic) -> pa.Array:
    if any(getattr(value, "nanosecond", 0) for value in values):  # of pandas
        raise ValueError
    offset = next(value for value in values if value is not None).utcoffset()
    return pa.array(values, pa.timestamp("us", None if offset is None else "UTC"))


def _numpy_times(values: list[Any], kind: Atomic) -> pa.Array:
    if kind.name == "DATE" and all(v is None or v.dtype == _DAYS for v in values):
        return pa.array(np.array(values, _DAYS))  # some are years that no microsecond reaches
    found = [np.datetime64("NaT", "us") if value is None else value for value in values]
    micros = np.array([value.astype("datetime64[us]") for value in found])
    if any(a != b for a, b in zip(found, micros, strict=True) if not np.isnat(a)):
        raise ValueError
    return pa.array(micros)


def _times_of_day(values: list[Any], _: Atomic) -> pa.Array:
    if any(value is not None and value.tzinfo is not None for value in values):
        raise ValueError
    return pa.array(values, pa.time64("us"))


def _other(values: list[Any], kind: Atomic) -> pa.Array:
    raise TypeError


_MADE: dict[_Of, Callable[[list[Any], Atomic], pa.Array]] = {
    _Of.NULL: _null,
    _Of.BOOLEAN: _as(pa.bool_()),
    _Of.WHOLE: _as(pa.int64()),
    _Of.HUGE: _huge,
    _Of.FLOATING: _as(pa.float64()),
    _Of.DECIMAL: lambda values, _: pa.array(values),
    _Of.TEXT: _as(pa.utf8()),
    _Of.BYTES: _as(pa.binary()),
    _Of.DATE: _as(pa.date32()),
    _Of.CLOCK: _times,
    _Of.INSTANT: _times,
    _Of.ELSEWHERE: _times,
    _Of.NUMPY_TIME: _numpy_times,
    _Of.TIME_OF_DAY: _times_of_day,
    _Of.OTHER: _other,
}


def _lists(values: list[Any], kind: Array, path: str) -> pa.Array:
    lengths: list[int] = []
    every: list[Any] = []
    for value in values:
        found = [] if value is None else _items(value)
        if found is None:
            raise Unfit(path, kind, values)
        lengths.append(len(found))
        every.extend(found)
    below = _part(every, kind.element, f"{path}.element")
    return of_lists(below, lengths, _nulls(values))


def _items(value: Any) -> Sequence[Any] | None:
    """The elements of a list in any form; None if it is not one."""
    items: list[Any]
    if isinstance(value, np.ndarray) and value.ndim:
        items = value.tolist() if value.dtype.kind in "biuf" else list(value)
        return items
    if isinstance(value, pa.Array):
        items = value.to_pylist()
        return items
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
    return value if is_list and not isinstance(value, memoryview) else None


def _nulls(values: list[Any]) -> pa.Array:
    return pa.array([value is None for value in values], pa.bool_())


def _part(values: list[Any], kind: DataType, path: str) -> pa.Array:
    found = python(values, kind, path)
    if not kind.nullable and found.null_count:
        raise Unfit(path, kind, [None], "it is NOT NULL")
    return found


def _maps(values: list[Any], kind: Map, path: str) -> pa.Array:
    lengths: list[int] = []
    keys: list[Any] = []
    items: list[Any] = []
    for value in values:
        pairs = [] if value is None else _pairs(value)
        if pairs is None:
            raise Unfit(path, kind, values)
        lengths.append(len(pairs))
        keys.extend(pair[0] for pair in pairs)
        items.extend(pair[1] for pair in pairs)
    entries = (
        _part(keys, with_nullability(kind.key, False), f"{path}.key"),
        _part(items, kind.value, f"{path}.value"),
    )
    if has_repeated(entries[0], lengths):
        raise Unfit(path, kind, values, "a key comes twice")
    return of_maps(entries, lengths, _nulls(values))


def _pairs(value: Any) -> list[Any] | None:
    """The entries of a map: of a dictionary, of pairs, or of dictionaries of key and value."""
    if isinstance(value, Mapping):
        return list(value.items())
    found = _items(value)
    if found is None:
        return None
    pairs = [(e["key"], e["value"]) if _is_entry(e) else _items(e) for e in found]
    return pairs if all(pair is not None and len(pair) == 2 for pair in pairs) else None


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, Mapping) and entry.keys() == {"key", "value"}


def _structs(values: list[Any], kind: Row, path: str) -> pa.Array:
    known: dict[tuple[Any, ...], list[int]] = {}
    rows: list[list[Any]] = [[] for _ in kind.fields]
    for value in values:
        if value is None:
            cells: list[Any] = [None] * len(rows)
        elif not isinstance(value, Mapping):
            raise Unfit(path, kind, values)
        else:
            given = tuple(value)
            if given not in known:
                places = placed(kind, [str(name) for name in given])
                if isinstance(places, str):
                    raise Unfit(path, kind, [value], places)
                known[given] = places
            cells = [value[given[place]] for place in known[given]]
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
    is_null, parts = _nulls(values), []
    for field, row in zip(kind.fields, rows, strict=True):
        where = f"{path}.{field.name}"
        found = python(row, field.type, where)
        if not field.type.nullable and found.null_count > is_null.true_count:
            raise Unfit(where, field.type, [None], "it is NOT NULL")
        parts.append(found)
    return of_structs(parts, kind.fields, is_null)
