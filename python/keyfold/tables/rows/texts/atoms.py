"""One text, or one number of JSON, as a value of a type without parts."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from keyfold.tables.rows.texts import times
from keyfold.types.literals import decimal_of
from keyfold.types.logical import Atomic, DataType, describe
from keyfold.types.type_table import INTEGERS, MAX_LENGTH, TIMES, Family

_BLANK = "".join(map(chr, range(33))) + "\x7f"  # what CAST cuts off at both ends
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}
_TRUTH = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_LONGEST = 1000  # digits that are looked at


class Unread(Exception):
    """A text or value of JSON that is not one of its type."""

    def __init__(self, found: Any, kind: DataType, why: str = "", path: str = "") -> None:
        super().__init__(found)
        self.found, self.kind, self.why, self.path = found, kind, why, path

    def __str__(self) -> str:
        shown = repr(self.found) if isinstance(self.found, str) else _shown(self.found)
        shown = shown if len(shown) <= 100 else shown[:100] + "…"
        found = f"{shown} is not a value of type {describe(self.kind)}"
        return f"{found}: {self.why or f'expected {expected(self.kind)}'}"


def _shown(value: Any) -> str:
    plain = {None: "null", True: "true", False: "false"}
    return plain[value] if value is None or isinstance(value, bool) else str(value)


def expected(kind: DataType) -> str:
    """How values of a type are written, in words."""
    if not isinstance(kind, Atomic):
        return "an object of JSON" if describe(kind).startswith("STRUCT") else "a list of JSON"
    return kind.spelled(kind.facts.written)


def of_text(text: str, kind: Atomic) -> Any:
    """The value of a text: days of a DATE, milliseconds of a TIME, microseconds of a
    timestamp. Raises Unread if it has none."""
    try:
        found = _OF_TEXT[kind.facts.family](text, kind)
    except (InvalidOperation, ValueError):
        found = None
    if found is None:
        raise Unread(text, kind)
    return found


def of_number(number: int | float | Decimal, kind: Atomic) -> Any:
    """The value of a number of JSON. Raises Unread if the type has no such number."""
    if kind.name in INTEGERS and type(number) is int:
        most = 1 << INTEGERS[kind.name] - 1
        if -most <= number < most:
            return number  # as most are: to read its text takes three times as long
    if kind.name == "DOUBLE" and isinstance(number, Decimal) and math.isfinite(float(number)):
        return float(number)
    if kind.name in INTEGERS and isinstance(number, Decimal) and _is_whole(number):
        number = int(number)
    if kind.facts.family not in (Family.INTEGER, Family.FLOATING, Family.DECIMAL):
        raise Unread(number, kind)
    if isinstance(number, int) and number.bit_length() > 2048:
        raise Unread("a number of many digits", kind)
    try:
        return of_text(str(number), kind)
    except Unread:
        raise Unread(number, kind) from None


def _is_whole(number: Decimal) -> bool:
    return number.adjusted() < 20 and number == number.to_integral_value()


def as_python(value: Any, kind: Atomic) -> Any:
    """A value of `of_text` in the class of Python that stands for it."""
    if kind.name == "DATE":
        return times.date_of(value)
    if kind.name == "TIME":
        return times.clock_of(value)
    if kind.name in TIMES:
        return times.moment_of(value, is_local=kind.name == "TIMESTAMP")
    return value


def _whole(text: str, kind: Atomic) -> int | None:
    text, most = text.strip(_BLANK), 1 << INTEGERS[kind.name] - 1
    if len(text) > _LONGEST or not _WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if -most <= number < most else None


def _floating(text: str, kind: Atomic) -> float | None:
    text = text.strip(_BLANK)
    if (special := _SPECIAL.get(text.lower())) is not None:
        return special
    if not _NUMBER.fullmatch(text):
        return None
    if kind.name == "DOUBLE":
        found = float(text)
    else:  # rounded once, not by way of a double
        found = pa.scalar(str(Decimal(text))).cast(pa.float32()).as_py()
    return found if math.isfinite(found) else None


def _decimal(text: str, kind: Atomic) -> Decimal | None:
    text = text.strip(_BLANK)
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    scale, number = kind.scale or 0, Decimal(text)
    sign, digits, exponent = number.as_tuple()
    unscaled = int("".join(map(str, digits)))
    while unscaled and not unscaled % 10:
        unscaled, exponent = unscaled // 10, int(exponent) + 1
    if not unscaled:
        return decimal_of(0, scale)
    more = int(exponent) + scale
    if more < 0 or len(str(unscaled)) + more > (kind.length or 0):
        return None
    return decimal_of((-1 if sign else 1) * unscaled * 10**more, scale)


def _text(text: str, kind: Atomic) -> str | None:
    if kind.name != "STRING" and len(text.rstrip(" ")) > (kind.length or MAX_LENGTH):
        return None
    if not text.isascii():
        text.encode()  # half a character, which JSON can write
    return text


def _bytes(text: str, _: Atomic) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None


def _moment(text: str, kind: Atomic) -> int | None:
    return times.micros_of(text.strip(_BLANK), is_local=kind.name == "TIMESTAMP")


_OF_TEXT: dict[Family, Callable[[str, Atomic], Any]] = {
    Family.BOOLEAN: lambda text, _: _TRUTH.get(text.strip(_BLANK).lower()),
    Family.INTEGER: _whole,
    Family.FLOATING: _floating,
    Family.DECIMAL: _decimal,
    Family.TEXT: _text,
    Family.BINARY: _bytes,
    Family.DATE: lambda text, _: times.days_of(text.strip(_BLANK)),
    Family.TIMESTAMP: _moment,
    Family.TIME: lambda text, kind: times.millis_of(text.strip(_BLANK), kind.length or 0),
}
