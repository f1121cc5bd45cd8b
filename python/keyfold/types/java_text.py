"""Numbers, dates and times as Paimon's Java writes them as text.

The module imports none of keyfold's. Since Java 19 `Double.toString` gives the fewest digits that
read back; older Java gave others for some numbers. The text is that of the JVM which started this
process. So a column that became STRING reads alike in keyfold and in Paimon's library beside it.
"""

import datetime
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

JAVA_VERSION = "KEYFOLD_JAVA_VERSION"  # set by the JVM, as is the next
JAVA_ZONE = "KEYFOLD_JAVA_ZONE"
FLOAT_BITS, DOUBLE_BITS = 24, 53

_SHORTEST_SINCE = 19
_LEAST = {FLOAT_BITS: -126, DOUBLE_BITS: -1022}  # exponents of the least normal numbers
_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_LOGARITHM = (0.289529654, 0.176091259, 0.301029995663981)  # old Java's estimate of a power of ten
_DAY = 86_400_000_000
_FIRST_DAY = -719_528  # of year 0
_ERA, _IN_ERA = 146_097, datetime.datetime(2000, 1, 1)  # days of 400 years, the first of some
_CYCLE = 3_652_425  # days of 10,000 years: Paimon writes the last four digits of a year


def zone() -> str:
    """The time zone of that JVM, in which Paimon converts; UTC if no JVM set it."""
    return os.environ.get(JAVA_ZONE, "UTC")


def floats(array: pa.Array, bits: int) -> pa.Array:
    """The text of each number; its significand has `bits` bits."""
    values = array.to_numpy(zero_copy_only=False)
    valid = array.is_valid().to_pylist()
    texts = [floating(v, bits) if ok else None for v, ok in zip(values, valid, strict=True)]
    return pa.array(texts, pa.utf8())


def floating(value: float, bits: int) -> str:
    """Java's toString of a FLOAT or a DOUBLE."""
    number = float(value)
    if not math.isfinite(number):
        return _NAMES[repr(number)]
    if not number:
        return repr(number)
    if int(os.environ.get(JAVA_VERSION, _SHORTEST_SINCE)) < _SHORTEST_SINCE:
        digits, place = _old_digits(abs(number), bits)
        found = Decimal(digits if number > 0 else -digits).scaleb(place).normalize()
    else:
        found = _shortest(number, bits)
    if Decimal("0.001") <= abs(found) < Decimal("1e7"):
        text = f"{found:f}"
        return text if "." in text else text + ".0"
    mantissa, exponent = f"{found:e}".split("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _shortest(number: float, bits: int) -> Decimal:
    """The fewest digits that read back, but at least two: those nearest to the number."""
    text = repr(number) if bits == DOUBLE_BITS else str(np.float32(number))
    found = Decimal(text).normalize()
    return found if len(found.as_tuple().digits) > 1 else Decimal(f"{number:.1e}").normalize()


def _old_digits(number: float, bits: int) -> tuple[int, int]:
    """The digits of a positive number, and the power of ten of the last one."""
    fraction, above = math.frexp(number)
    top = above - 1
    if number.is_integer() and top <= 62:
        return _old_whole(int(number), top - bits - 1)
    digits = _Digits.of(int(fraction * 2**DOUBLE_BITS), top, bits)
    found = place = 0
    is_low = is_high = False
    for place, digit in enumerate(digits):
        found = 10 * found + digit
        is_low, is_high = digits.ends()
        if place == 0 and (digits.power < -3 or digits.power >= 8):
            continue  # at least two digits
        if is_low or is_high:
            break
    rest = 2 * digits.rest - digits.unit
    if is_high and (not is_low or rest > 0 or (rest == 0 and found % 2)):
        found += 1
    return found, digits.power - place


def _old_whole(number: int, unsure: int) -> tuple[int, int]:
    """A whole number, without the digits that the last `unsure` bits of a LONG can't decide."""
    drop = int(unsure * math.log10(2)) if unsure > 1 else 0
    found, rest = divmod(number, 10**drop)
    return found + (drop > 0 and 2 * rest >= 10**drop), drop


@dataclass
class _Digits:
    """The digits of a number, one after the other, and the distance of the rest from either end.

    `rest` is less than `unit`; `half` is half the distance to the next number. Java computes with
    as few bits as it needs and lets a sum overflow, which ends some numbers early. `word` is the
    number of these bits, 0 if no sum overflows.
    """

    rest: int
    half: int
    unit: int
    power: int
    word: int

    @staticmethod
    def of(significand: int, top: int, bits: int) -> "_Digits":
        last, half = top + 1 - DOUBLE_BITS, max(top, _LEAST[bits]) - bits
        odd = significand // (significand & -significand)
        half -= odd == 1  # the next lower number is half as far from a power of two
        estimate = _LOGARITHM[0] * (significand * 2.0 ** (1 - DOUBLE_BITS) - 1.5)
        power = math.floor(estimate + _LOGARITHM[1] + top * _LOGARITHM[2])
        scale = min(last, half, 0)
        up, down = 10 ** max(-power, 0), 10 ** max(power, 0)
        parts = [significand * up << last - scale, up << half - scale, down << -scale]
        common = min(part & -part for part in parts)
        number, half, unit = (part // common for part in parts)
        fives = [(5 ** max(-power, 0)).bit_length(), (5 ** (max(power, 0) + 1)).bit_length()]
        sizes = [odd.bit_length() + _twos(number) + fives[0], _twos(unit) + 1 + fives[1]]
        word = next((size for size in (32, 64) if max(sizes) < size), 0)
        # The estimate may be one too high: then the first digit is 0.
        found = _Digits(number, half, unit, power, word)
        if number < unit and not _Digits(number, half, unit, power, word).ends()[1]:
            found = _Digits(10 * number, 10 * half, unit, power - 1, word)
        return found

    def __iter__(self) -> Iterator[int]:
        while True:
            digit, self.rest = divmod(self.rest, self.unit)
            yield digit
            self.rest, self.half = 10 * self.rest, 10 * self.half

    def ends(self) -> tuple[bool, bool]:
        """Whether the digits so far, and those with the last one more, read back."""
        if not self.word:
            return self.rest < self.half, self.rest + self.half >= self.unit
        half = self._wrapped(10 * self.half)
        if half <= 0:
            return True, True
        return 10 * self.rest < half, self._wrapped(10 * self.rest + half) > 10 * self.unit

    def _wrapped(self, number: int) -> int:
        top = 1 << self.word - 1
        return (number + top) % (2 * top) - top


def _twos(number: int) -> int:
    return (number & -number).bit_length() - 1


def iso_date(days: int) -> str:
    """`LocalDate.toString` of a DATE: +10000-01-01, -0001-12-31."""
    era, day = divmod(days - _FIRST_DAY, _ERA)
    shown = _IN_ERA + datetime.timedelta(day)
    year = 400 * era + shown.year - _IN_ERA.year
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}{shown:-%m-%d}"


def iso_time(micros: int, timespec: str = "auto") -> str:
    """The ISO text of a TIMESTAMP, its clock in the form of Python's `isoformat`."""
    days, clock = divmod(micros, _DAY)
    moment = _IN_ERA + datetime.timedelta(microseconds=clock)
    return f"{iso_date(days)}T{moment.time().isoformat(timespec)}"


def iso_clock(millis: int) -> str:
    """The ISO text of a TIME, in the form of Python's `isoformat`."""
    return (_IN_ERA + datetime.timedelta(milliseconds=millis)).time().isoformat()


def folder_date(days: int, _: int, is_legacy: bool) -> str:
    """A DATE in the name of a folder, as of all types: by the value, the column's digits, and
    whether it is Java's `toString` of the stored form. Raises ValueError if only that can name it.
    """
    return str(days) if is_legacy else _of_four_digits(iso_date(days))


def folder_time(micros: int, digits: int, is_legacy: bool) -> str:
    """A TIMESTAMP there: `LocalDateTime.toString`, whose seconds and fraction are left out if they
    are zero, or with a blank and `digits` digits of a second, more if needed.
    """
    if is_legacy:
        if micros % 1_000_000:
            return iso_time(micros, "microseconds" if micros % 1000 else "milliseconds")
        return iso_time(micros, "seconds" if micros % 60_000_000 else "minutes")
    text, fraction = _of_four_digits(iso_time(micros, "microseconds")).split(".")
    fraction += "000"
    while len(fraction) > digits and fraction.endswith("0"):
        fraction = fraction[:-1]
    text = text.replace("T", " ")
    return f"{text}.{fraction}" if fraction else text


def _of_four_digits(text: str) -> str:
    """The text; raises ValueError if Paimon would write only four digits of its year."""
    if text[0] in "+-":
        raise ValueError(text)
    return text


def shown(scalar: pa.Scalar) -> str:
    """A value as a message names it; Python has no dates outside the years 1 to 9999."""
    if scalar.is_valid and pa.types.is_date32(scalar.type):
        return iso_date(scalar.value)
    if scalar.is_valid and pa.types.is_timestamp(scalar.type):
        return iso_time(scalar.value).replace("T", " ")
    return str(scalar.as_py())


def dates(array: pa.Array) -> pa.Array:
    """`yyyy-MM-dd` of each DATE."""
    days = array.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64)
    return _nulled(_years(days), array)


def timestamps(array: pa.Array, digits: int) -> pa.Array:
    """`yyyy-MM-dd HH:mm:ss.SSS` of each microsecond, with `digits` of a second, more if needed."""
    days, micros = np.divmod(array.cast(pa.int64()).fill_null(0).to_numpy(), _DAY)
    clock = np.datetime_as_string(micros.astype("datetime64[us]"))
    time = pc.utf8_slice_codeunits(pa.array(clock, pa.utf8()), len("1970-01-01T"))
    if digits < 6:
        time = pc.replace_substring_regex(time, f"0{{1,{6 - digits}}}$", "")
        time = pc.replace_substring_regex(time, r"\.$", "")
    return _nulled(pc.binary_join_element_wise(_years(days), time, " "), array)


def _years(days: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> pa.Array:
    if (days < _FIRST_DAY).any():
        raise ValueError("Paimon has no text for a date before the year 0")
    inside = (days - _FIRST_DAY) % _CYCLE + _FIRST_DAY
    return pa.array(np.datetime_as_string(inside.astype("datetime64[D]")), pa.utf8())


def _nulled(texts: pa.Array, array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_valid(array), texts, pa.scalar(None, pa.utf8()))
