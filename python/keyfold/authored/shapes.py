"""SQL types that users declare, what their functions see of such values, and the way back.

A function sees whole numbers, dates (days since 1970) and timestamps (microseconds since 1970) as
int, FLOAT and DOUBLE as float, BOOLEAN as bool, STRING and BINARY as the numpy array of their
bytes, a STRUCT as a named tuple of these.
"""

import datetime
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.declare import Accepts, FoldResult
from keyfold.errors import FunctionError
from keyfold.kernels.buffers import Mask, pack, validity
from keyfold.kernels.loops import Kind, Shape, Slot

Declared = str | Sequence[str] | Mapping[str, str]

_DAY = datetime.date(1970, 1, 1)
_MOMENT = datetime.datetime(1970, 1, 1)
_MICRO = datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class Scalar:
    """One SQL type: what a function sees of it, its Arrow type, and the test of all it may have."""

    name: str
    kind: Kind
    arrow: pa.DataType
    test: Callable[[pa.DataType], bool]


SCALARS = {
    scalar.name: scalar
    for scalar in (
        Scalar("TINYINT", "integer", pa.int8(), types.is_int8),
        Scalar("SMALLINT", "integer", pa.int16(), types.is_int16),
        Scalar("INT", "integer", pa.int32(), types.is_int32),
        Scalar("BIGINT", "integer", pa.int64(), types.is_int64),
        Scalar("FLOAT", "float", pa.float32(), types.is_float32),
        Scalar("DOUBLE", "float", pa.float64(), types.is_float64),
        Scalar("BOOLEAN", "boolean", pa.bool_(), types.is_boolean),
        Scalar("DATE", "integer", pa.date32(), types.is_date32),
        Scalar(
            "TIMESTAMP",
            "integer",
            pa.timestamp("us", "UTC"),
            lambda kind: _is_micros(kind) and kind.tz is not None,
        ),
        Scalar(
            "TIMESTAMP_NTZ",
            "integer",
            pa.timestamp("us"),
            lambda kind: _is_micros(kind) and kind.tz is None,
        ),
        Scalar(
            "STRING", "bytes", pa.utf8(), lambda k: types.is_string(k) or types.is_large_string(k)
        ),
        Scalar(
            "BINARY", "bytes", pa.binary(), lambda k: types.is_binary(k) or types.is_large_binary(k)
        ),
    )
}
NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")
FIXED = tuple(name for name, scalar in SCALARS.items() if scalar.kind != "bytes")
EVERY = tuple(SCALARS)
NOT_NULL = " NOT NULL"
_IDENTITIES: dict[str, tuple[type, str]] = {
    "integer": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "boolean": (bool, "True or False"),
}


def _is_micros(kind: pa.DataType) -> bool:
    return bool(types.is_timestamp(kind) and kind.unit == "us")


def checked(
    function: str, declared: Declared, known: Sequence[str]
) -> tuple[str, ...] | dict[str, str]:
    """The types as declared, in one form; FunctionError for a name that is none of `known`."""
    if isinstance(declared, Mapping):
        found: list[Any] = list(declared.values())
    else:
        found = list(declared) if isinstance(declared, list | tuple) else [declared]
    for name in found:
        if not isinstance(name, str) or name.upper() not in known:
            raise FunctionError(
                f"{function}: types must be of {', '.join(known)}, or a dict of them for a STRUCT, "
                f"found {name!r}; combine and gather take any type"
            )
    if not found:
        raise FunctionError(f"{function}: no types are declared")
    if isinstance(declared, Mapping):
        return {name: kind.upper() for name, kind in declared.items()}
    return tuple(name.upper() for name in found)


def check_identity(
    function: str, declared: tuple[str, ...] | dict[str, str], identity: Any
) -> None:
    """FunctionError where it is no value of every type, as a function sees such values."""
    if isinstance(declared, dict):
        if not isinstance(identity, tuple) or len(identity) != len(declared):
            words = f"identity needs a value for each of {', '.join(declared)}"
            raise FunctionError(f"{function}: {words}, found {identity!r}")
        pairs = list(zip(declared.values(), identity, strict=True))
    else:
        pairs = [(name, identity) for name in declared]
    for name, value in pairs:
        test, words = _IDENTITIES[SCALARS[name].kind]
        if not isinstance(value, test) or (test is not bool and isinstance(value, bool)):
            raise FunctionError(
                f"{function}: the identity of {name} must be {words}, found {value!r}"
            )


def of_column(declared: str) -> tuple[Scalar, bool]:
    """The type of an engine's column, and whether it may be NULL."""
    name = declared.removesuffix(NOT_NULL)
    return SCALARS[name], name == declared


def accepts(declared: tuple[str, ...] | dict[str, str]) -> Accepts:
    """The test of a column's type, and the words an error names it by."""
    if isinstance(declared, dict):
        fields = declared
        words = "STRUCT<" + ", ".join(f"{n}: {t}" for n, t in fields.items()) + ">"
        return Accepts(words, lambda kind: _is_struct(kind, fields))
    names = declared
    return Accepts(" or ".join(names), lambda kind: any(SCALARS[name].test(kind) for name in names))


def _is_struct(kind: pa.DataType, fields: Mapping[str, str]) -> bool:
    return (
        types.is_struct(kind)
        and {field.name for field in kind} == set(fields)
        and all(SCALARS[name].test(kind.field(field).type) for field, name in fields.items())
    )


def shape(declared: tuple[str, ...] | dict[str, str], kind: pa.DataType, sees_nulls: bool) -> Shape:
    """What a function sees of a column of an Arrow type that is accepted."""
    if isinstance(declared, dict):
        return Shape(tuple(Slot(n, SCALARS[t].kind) for n, t in declared.items()), True)
    found = next(SCALARS[name] for name in declared if SCALARS[name].test(kind))
    return Shape((Slot("value", found.kind, sees_nulls),), False)


def parts(form: Shape, column: pa.Array) -> tuple[list[pa.Array], Mask]:
    """One array a slot, and where the value is there: a STRUCT is when all its fields are."""
    if not form.is_tuple:
        return [column], validity(column)
    flat = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    arrays = [flat[name] for name in form.names]
    masks = [validity(column), *map(validity, arrays)]
    return arrays, np.ascontiguousarray(np.logical_and.reduce(masks).astype(np.uint8))


def without_masks(form: Shape) -> Sequence[Slot]:
    """The slots as arrays without their masks: a fold has one validity of its own."""
    return [replace(slot, sees_nulls=False) for slot in form.slots]


def results(form: Shape, groups: int) -> list[npt.NDArray[Any]]:
    """Arrays a fold writes to."""
    dtypes = {"integer": np.int64, "float": np.float64, "boolean": np.uint8}
    return [np.empty(groups, dtype=dtypes[slot.kind]) for slot in form.slots]


def column_of(
    form: Shape, kind: pa.DataType, outs: Sequence[npt.NDArray[Any]], valid: Mask
) -> FoldResult:
    """The column a fold wrote; whole numbers that leave their type are an overflow."""
    if not form.is_tuple:
        return _scalar(kind, outs[0], valid)
    made = {
        name: _scalar(kind.field(name).type, out, np.ones_like(valid))
        for name, out in zip(form.names, outs, strict=True)
    }
    arrays = [made[field.name].array for field in kind]
    missing = pa.array(valid == 0)
    column = pa.StructArray.from_arrays(arrays, fields=list(kind), mask=missing)
    lost = [result.overflowed for result in made.values() if result.overflowed >= 0]
    return FoldResult(column, min(lost, default=-1))


def _scalar(kind: pa.DataType, out: npt.NDArray[Any], valid: Mask) -> FoldResult:
    overflowed = -1
    if types.is_boolean(kind):
        buffer = pa.py_buffer(np.packbits(out, bitorder="little"))
        return FoldResult(pa.Array.from_buffers(kind, len(valid), [pack(valid), buffer]))
    width = kind.bit_width // 8
    own = np.dtype(f"f{width}" if types.is_floating(kind) else f"i{width}")
    if own.kind == "i" and width < 8:
        limits = np.iinfo(own)
        outside = np.flatnonzero(((out < limits.min) | (out > limits.max)) & (valid == 1))
        overflowed = int(outside[0]) if len(outside) else -1
    with np.errstate(over="ignore"):
        buffer = pa.py_buffer(out.astype(own, copy=False))
    return FoldResult(pa.Array.from_buffers(kind, len(valid), [pack(valid), buffer]), overflowed)


# ---- single values, for definitions and messages ----


@cache
def row_class(form: Shape) -> Any:
    """The named tuple a function sees of several slots."""
    return namedtuple("Row", form.names)


def seen(form: Shape, value: Any) -> Any:
    """What a function sees of a Python value; None where it is NULL, or a field of it is."""
    if value is None or not form.is_tuple:
        return seen_alone(value)
    fields = [seen_alone(value[name]) for name in form.names]
    return None if any(one is None for one in fields) else row_class(form)(*fields)


def seen_alone(value: Any) -> Any:
    """What a function sees of a value that is no STRUCT; None where it is NULL."""
    if isinstance(value, str | bytes):
        data = value.encode() if isinstance(value, str) else value
        return np.frombuffer(data, dtype=np.uint8)
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - _MOMENT) // _MICRO
    if isinstance(value, datetime.date):
        return (value - _DAY).days
    return float(value) if isinstance(value, np.floating) else value


def given(form: Shape, kind: pa.DataType, result: Any) -> Any:
    """The Python value of what a function gave."""
    if result is None or not form.is_tuple:
        return None if result is None else _given(kind, result)
    by_name = dict(zip(form.names, result, strict=True))
    return {field.name: _given(field.type, by_name[field.name]) for field in kind}


def _given(kind: pa.DataType, result: Any) -> Any:
    if types.is_date(kind):
        return _DAY + datetime.timedelta(days=int(result))
    if types.is_timestamp(kind):
        moment = _MOMENT + datetime.timedelta(microseconds=int(result))
        return moment.replace(tzinfo=datetime.timezone.utc) if kind.tz else moment
    if types.is_float32(kind):
        return np.float32(result)
    return bool(result) if types.is_boolean(kind) else result
