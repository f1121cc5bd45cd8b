"""Literals of Spark's predicates as values that compare like the stored column.

Values are those of manifests: DATE is days, TIMESTAMP microseconds, TIME milliseconds, DECIMAL a
Decimal, text str, binary bytes. FLOAT and DOUBLE compare by `Floating`, CHAR padded to its length.
A literal whose type is not the column's is Unknown.
"""

from __future__ import annotations

import base64
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import numpy as np
import pyarrow as pa

from keyfold.lazy import cached_property
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic, DataType
from keyfold.types.type_table import TYPES, Bound, Family, numbers_of, unit_of

# Types of which manifests hold numbers that are whole; texts that compare as they are.
WHOLE = frozenset(
    name
    for name, facts in TYPES.items()
    if facts.family is Family.INTEGER or (facts.arrow is not None and unit_of(facts.arrow))
)
FLOATING = frozenset(name for name, facts in TYPES.items() if facts.family is Family.FLOATING)
TEXT = frozenset(name for name, facts in TYPES.items() if facts.bound is Bound.TEXT)


class Unknown(Exception):
    """The predicate can't be decided from statistics: everything is kept."""


NAN_TOP: Final = (1, 0.0)
Floating = tuple[int, float]


def floating(value: float) -> Floating:
    """A key in Spark's order of predicates: -0.0 equals 0.0, NaN is greatest."""
    return NAN_TOP if math.isnan(value) else (0, value)


@dataclass(frozen=True)
class Constant:
    """A literal as JSON has it, with Spark's name of its type."""

    value: Any
    type: str | None

    @staticmethod
    def from_json(json: Mapping[str, Any]) -> Constant:
        """The literal of `{"literal": value, "type": Spark's type}`."""
        return Constant(json["literal"], json.get("type"))


@dataclass(frozen=True)
class Members:
    """The values of a list, as values of one column type. `ordered` leaves NULL out."""

    type: DataType
    ordered: tuple[Any, ...]
    has_null: bool

    def reach_into(self, low: Any, high: Any) -> bool:
        """Whether one of the values is from low to high."""
        at = bisect_left(self.ordered, low)
        return at < len(self.ordered) and bool(self.ordered[at] <= high)

    @property
    def is_empty(self) -> bool:
        """Whether there is no constant: then nothing is among them, and NULL is not either."""
        return not self.ordered and not self.has_null

    @cached_property
    def array(self) -> pa.Array:
        """The values, NULL left out."""
        return arrow_array(list(self.ordered), self.type)


def members_of(constants: Sequence[Constant], data_type: DataType) -> Members:
    """The constants as values of the column's type. Raises Unknown if one has another type."""
    values = {value_of(constant, data_type) for constant in constants}
    return Members(data_type, tuple(sorted(values - {None})), None in values)


def value_of(constant: Constant, data_type: DataType) -> Any:
    """The constant as a value of the column's type, None if NULL. Raises Unknown if its type is
    another.
    """
    if constant.value is None:
        return None
    if not isinstance(data_type, Atomic) or not _fits(str(constant.type), data_type):
        raise Unknown
    try:
        return _convert(constant.value, data_type)
    except (ValueError, TypeError, InvalidOperation) as error:
        raise Unknown from error


def comparable(value: Any, data_type: DataType) -> Any:
    """A manifest value in the form that `value_of` gives."""
    if value is None or not isinstance(data_type, Atomic):
        return value
    if data_type.name in FLOATING:
        return floating(value)
    return _padded(value, data_type) if data_type.name == "CHAR" else value


def _padded(text: str, data_type: Atomic) -> str:
    return text.ljust(data_type.length or 0)


def _fits(spark: str, data_type: Atomic) -> bool:
    if data_type.name == "DECIMAL":
        return spark.startswith("decimal")
    is_text = data_type.name in (*TEXT, "CHAR") and spark.startswith(("char", "varchar", "string"))
    return is_text or (
        data_type.name != "BINARY" and spark == data_type.spelled(data_type.facts.spark)
    )


def _convert(value: Any, data_type: Atomic) -> Any:
    name = data_type.name
    if name == "BOOLEAN":
        return _exactly(value, bool)
    if name in WHOLE:
        return whole_number(value, data_type)
    if name in FLOATING:
        return floating(float(np.float32(value) if name == "FLOAT" else float(value)))
    if name == "DECIMAL":
        return Decimal(str(value))
    if name in TEXT:
        return _exactly(value, str)
    if name == "CHAR":
        return _padded(_exactly(value, str), data_type)
    return base64.b64decode(value)


def whole_number(value: Any, data_type: Atomic) -> int:
    """The number of a manifest that a literal of Spark stands for. Raises ValueError if there is
    none.
    """
    number, rest = divmod(int(value), data_type.facts.sparks_units)
    if rest:
        raise ValueError(value)
    return number


def _exactly(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise Unknown
    return value


def arrow_array(values: list[Any], data_type: DataType) -> pa.Array:
    """Manifest values as an Arrow array of the column's type. Dates and times among the values are
    integers.
    """
    arrow = to_arrow(data_type)
    unit = unit_of(arrow)
    if unit is None:
        return pa.array(values, arrow)
    return pa.array(values, numbers_of(unit)).cast(unit).cast(arrow)


def manifest_values(array: pa.Array) -> list[Any]:
    """The inverse of `arrow_array`."""
    unit = unit_of(array.type)
    if unit is not None:
        array = array.cast(unit).cast(numbers_of(unit))
    values: list[Any] = array.to_pylist()
    return values


def manifest_value(scalar: pa.Scalar) -> Any:
    """One value as manifests hold it."""
    if not scalar.is_valid:
        return None
    unit = unit_of(scalar.type)
    return scalar.as_py() if unit is None else scalar.cast(unit).value


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """The exact Decimal, independent of the context's precision."""
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def unscaled(value: Decimal | int) -> int:
    """A number in its least unit, whatever its digits: Decimal's own operators round at 28."""
    if isinstance(value, int):
        return value
    sign, digits, _ = value.as_tuple()
    return (-1 if sign else 1) * int("".join(map(str, digits)))
