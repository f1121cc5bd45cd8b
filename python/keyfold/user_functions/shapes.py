"""SQL types that users declare, the form in which functions see such values, and the way back.

A function sees whole numbers, dates (days since 1970) and timestamps (microseconds since 1970) as
int, FLOAT and DOUBLE as float, BOOLEAN as bool, STRING and BINARY as the numpy array of their
bytes, a STRUCT as a named tuple of these.
"""

import datetime
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.aggregates.declaration import Accepts, FoldResult
from keyfold.errors import FunctionError
from keyfold.kernels.buffers import Mask, bits, dtype_of, ones, text, validity, values
from keyfold.kernels.buffers import column_of as column_of_items

Declared = str | Sequence[str] | Mapping[str, str]
KindName = Literal["integer", "float", "boolean", "bytes"]

_DAY = datetime.date(1970, 1, 1)
_MOMENT = datetime.datetime(1970, 1, 1)
_MICRO = datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class ValueShape:
    """A kind of value that a function sees: its numba type and the arrays that hold such values.
    For results and identities it has the expected words and types, and the cast to a result.
    """

    numba_type: Any
    arrays: tuple[Any, ...]
    words: str = ""
    results: tuple[Any, ...] = ()
    identity: Any = None
    cast: str = ""


_INTEGER, _FLOAT = numba.types.Integer, numba.types.Float
KINDS: dict[str, ValueShape] = {
    "integer": ValueShape(
        numba.int64, (numba.int64[::1],), "a whole number", (_INTEGER,), Integral, "np.int64"
    ),
    "float": ValueShape(
        numba.float64, (numba.float64[::1],), "a number", (_INTEGER, _FLOAT), Real, "np.float64"
    ),
    "boolean": ValueShape(
        numba.boolean, (numba.uint8[::1],), "True or False", (numba.types.Boolean,), bool, "bool"
    ),
    "bytes": ValueShape(numba.uint8[::1], (numba.int64[::1], numba.uint8[::1])),
}


@dataclass(frozen=True)
class Slot:
    """One number or text that a function sees; NULL is None if `sees_nulls`, else never comes."""

    name: str
    kind: KindName
    sees_nulls: bool = False

    @property
    def numba_type(self) -> Any:
        """The numba type of the value."""
        kind = KINDS[self.kind].numba_type
        return numba.types.Optional(kind) if self.sees_nulls else kind

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The numba types of the arrays a loop reads the values from."""
        return (*KINDS[self.kind].arrays, *((numba.uint8[::1],) if self.sees_nulls else ()))

    def inputs(self, k: int) -> tuple[str, ...]:
        """The names of the arrays of slot number `k` in the loop."""
        own = (f"offsets{k}", f"bytes{k}") if self.kind == "bytes" else (f"values{k}",)
        return (*own, f"mask{k}") if self.sees_nulls else own

    def value(self, k: int, row: str) -> str:
        """The source code of the value at a row."""
        if self.kind == "bytes":
            found = f"bytes{k}[offsets{k}[{row}]:offsets{k}[{row} + 1]]"
        else:
            found = f"values{k}[{row}]" + (" != 0" if self.kind == "boolean" else "")
        return f"({found} if mask{k}[{row}] else None)" if self.sees_nulls else found

    def read(self, column: pa.Array) -> tuple[npt.NDArray[Any], ...]:
        """The arrays of a column that the loop reads."""
        mask = (validity(column),) if self.sees_nulls else ()
        if self.kind == "bytes":
            return (*text(column), *mask)
        if self.kind == "boolean":
            return (bits(column.buffers()[1], column.offset, len(column)), *mask)
        prefix, target = ("i", np.int64) if self.kind == "integer" else ("f", np.float64)
        own = values(column, f"{prefix}{column.type.bit_width // 8}")
        return (own.astype(target, copy=False), *mask)


@dataclass(frozen=True)
class Shape:
    """The form in which a function sees a row: one slot as it is, or several as a named tuple."""

    slots: tuple[Slot, ...]
    is_tuple: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of the named tuple."""
        return tuple(slot.name for slot in self.slots)

    @property
    def arrays(self) -> list[Any]:
        """The numba types of the arrays a loop reads."""
        return [array for slot in self.slots for array in slot.arrays]

    @property
    def numba_type(self) -> Any:
        """The numba type of the value the function sees."""
        own = [slot.numba_type for slot in self.slots]
        return numba.types.NamedTuple(own, row_class(self)) if self.is_tuple else own[0]

    def value(self, row: str) -> str:
        """The source code of the value the function sees at a row."""
        return self.packed([slot.value(k, row) for k, slot in enumerate(self.slots)])

    def packed(self, items: Sequence[str]) -> str:
        """The source code that makes the value the function sees of its slots."""
        return f"Row({', '.join(items)})" if self.is_tuple else items[0]


@dataclass(frozen=True)
class Scalar:
    """One SQL type: its name, the slot a function sees of it, and its Arrow type."""

    name: str
    kind: KindName
    arrow: pa.DataType

    def test(self, kind: pa.DataType) -> bool:
        """Whether a column of that Arrow type has this SQL type."""
        if self.name == "TIMESTAMP":
            return bool(types.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None)
        return kind in (self.arrow, _LARGE.get(self.arrow))


_LARGE = {pa.utf8(): pa.large_utf8(), pa.binary(): pa.large_binary()}
_SCALARS: tuple[tuple[str, KindName, pa.DataType], ...] = (
    ("TINYINT", "integer", pa.int8()),
    ("SMALLINT", "integer", pa.int16()),
    ("INT", "integer", pa.int32()),
    ("BIGINT", "integer", pa.int64()),
    ("FLOAT", "float", pa.float32()),
    ("DOUBLE", "float", pa.float64()),
    ("BOOLEAN", "boolean", pa.bool_()),
    ("DATE", "integer", pa.date32()),
    ("TIMESTAMP", "integer", pa.timestamp("us", "UTC")),
    ("TIMESTAMP_NTZ", "integer", pa.timestamp("us")),
    ("STRING", "bytes", pa.utf8()),
    ("BINARY", "bytes", pa.binary()),
)
SCALARS = {name: Scalar(name, kind, arrow) for name, kind, arrow in _SCALARS}
EVERY = tuple(SCALARS)
NUMBERS = EVERY[:6]
FIXED = tuple(name for name, scalar in SCALARS.items() if scalar.kind != "bytes")
NOT_NULL = " NOT NULL"


def checked(
    function: str, declared: Declared, known: Sequence[str]
) -> tuple[str, ...] | dict[str, str]:
    """The types as declared, in one form. Raises FunctionError if a name is not one of `known`."""
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
    """Raises FunctionError if it is not a value of every type, in the form a function sees."""
    if isinstance(declared, dict):
        if not isinstance(identity, tuple) or len(identity) != len(declared):
            words = f"identity needs a value for each of {', '.join(declared)}"
            raise FunctionError(f"{function}: {words}, found {identity!r}")
        pairs = list(zip(declared.values(), identity, strict=True))
    else:
        pairs = [(name, identity) for name in declared]
    for name, value in pairs:
        kind = KINDS[SCALARS[name].kind]
        is_bool_wanted = kind.identity is bool
        if not isinstance(value, kind.identity) or isinstance(value, bool) != is_bool_wanted:
            raise FunctionError(
                f"{function}: the identity of {name} must be {kind.words}, found {value!r}"
            )


def of_column(declared: str) -> tuple[Scalar, bool]:
    """The type of an engine's column, and whether it may be NULL."""
    name = declared.removesuffix(NOT_NULL)
    return SCALARS[name], name == declared


def accepts(declared: tuple[str, ...] | dict[str, str]) -> Accepts:
    """The test of a column's type, and the words for it in an error."""
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
    """The shape in which a function sees a column; its Arrow type is an accepted one."""
    if isinstance(declared, dict):
        return Shape(tuple(Slot(n, SCALARS[t].kind) for n, t in declared.items()), True)
    found = next(SCALARS[name] for name in declared if SCALARS[name].test(kind))
    return Shape((Slot("value", found.kind, sees_nulls),), False)


def inputs(form: Shape, column: pa.Array) -> list[npt.NDArray[Any]]:
    """The arrays a loop reads a column from; the last says which rows have a value. A STRUCT has
    one if all its fields that can't be None have one.
    """
    if not form.is_tuple:
        valid = ones(len(column)) if form.slots[0].sees_nulls else validity(column)
        return [*form.slots[0].read(column), valid]
    flat = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    needed = [flat[slot.name] for slot in form.slots if not slot.sees_nulls]
    masks = [validity(array) for array in (column, *needed) if array.null_count]
    valid = np.logical_and.reduce(masks).astype(np.uint8) if masks else ones(len(column))
    return [*(array for slot in form.slots for array in slot.read(flat[slot.name])), valid]


def results(form: Shape, groups: int) -> list[npt.NDArray[Any]]:
    """The arrays a fold writes to: the slots, and whether there is a value."""
    dtypes = {"integer": np.int64, "float": np.float64, "boolean": np.uint8}
    kinds = [*(dtypes[slot.kind] for slot in form.slots), np.uint8]
    return [np.empty(groups, dtype=kind) for kind in kinds]


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
    column = pa.StructArray.from_arrays(arrays, fields=list(kind), mask=pa.array(valid == 0))
    lost = [result.overflowed for result in made.values() if result.overflowed >= 0]
    return FoldResult(column, min(lost, default=-1))


def _scalar(kind: pa.DataType, out: npt.NDArray[Any], valid: Mask) -> FoldResult:
    if types.is_boolean(kind):
        return FoldResult(column_of_items(kind, np.packbits(out, bitorder="little"), valid))
    own, overflowed = dtype_of(kind), -1
    if own.kind == "i" and own.itemsize < 8:
        limits = np.iinfo(own)
        outside = np.flatnonzero(((out < limits.min) | (out > limits.max)) & (valid == 1))
        overflowed = int(outside[0]) if len(outside) else -1
    with np.errstate(over="ignore"):
        return FoldResult(column_of_items(kind, out.astype(own, copy=False), valid), overflowed)


@cache
def row_class(form: Shape) -> Any:
    """The named tuple a function sees of several slots."""
    return namedtuple("Row", form.names)


def seen(form: Shape, value: Any) -> Any:
    """A Python value as a function sees it; None if it is NULL, or a STRUCT with a NULL in a
    field that can't be None.
    """
    if value is None or not form.is_tuple:
        return _seen(value)
    if any(value[slot.name] is None for slot in form.slots if not slot.sees_nulls):
        return None
    return row_class(form)(*(_seen(value[name]) for name in form.names))


def _seen(value: Any) -> Any:
    if isinstance(value, str | bytes):
        data = value.encode() if isinstance(value, str) else value
        return np.frombuffer(data, dtype=np.uint8)
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - _MOMENT) // _MICRO
    if isinstance(value, datetime.date):
        return (value - _DAY).days
    return float(value) if isinstance(value, np.floating) else value


def given(form: Shape, kind: pa.DataType, result: Any) -> Any:
    """The Python value of a function's result."""
    if result is None:
        return None
    if not form.is_tuple:
        return _given(kind, result)
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
