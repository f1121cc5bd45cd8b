"""Which value a column stores for one that a program gives, value by value, and random ones.

This is the definition of the table of conversions in `docs/python.md`.
"""

import datetime as dt
import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from keyfold.types.logical import Array, Atomic, DataType, Map, Row
from keyfold.types.sql import from_sql

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
UTC, TOKYO = dt.timezone.utc, dt.timezone(dt.timedelta(hours=9))
ATOMS = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"),
    *("DECIMAL(5,2)", "DECIMAL(18,0)", "DECIMAL(38,18)", "DECIMAL(38,30)"),
    *("STRING", "VARCHAR(3)", "CHAR(3)", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"),
)
TYPES = tuple(
    (sql, from_sql(sql))
    for sql in (
        *ATOMS,
        *(f"ARRAY<{atom}>" for atom in ATOMS[3:]),
        "MAP<STRING, DECIMAL(5,2)>",
        "MAP<INT, CHAR(3)>",
        "STRUCT<x: INT, y: STRING>",
        "ARRAY<STRUCT<x: DECIMAL(5,2), y: ARRAY<FLOAT>>>",
    )
)


class Refused(Exception):
    """The column does not take the value."""


def stored(value: Any, kind: DataType) -> Any:
    """The value as a read gives it back. Raises Refused if it does not fit."""
    if value is None:
        return None
    match kind:
        case Array(element):
            _need(isinstance(value, list))
            return [stored(item, element) for item in value]
        case Map():
            _need(isinstance(value, list))
            pairs = [(stored(e["key"], kind.key), stored(e["value"], kind.value)) for e in value]
            _need(len({key for key, _ in pairs}) == len(pairs))
            _need(all(key is not None for key, _ in pairs))
            return pairs
        case Row(fields):
            _need(isinstance(value, dict))
            given = {name.lower(): item for name, item in value.items()}
            _need(given.keys() == {field.name for field in fields})
            return {field.name: stored(given[field.name], field.type) for field in fields}
        case Atomic():
            return _atom(value, kind)


def shown(value: Any) -> str:
    """The text of a value, by which equal ones are equal: NaN too, and times of all zones."""
    if isinstance(value, dt.datetime) and value.tzinfo:
        return repr(value.astimezone(UTC))
    if isinstance(value, list | tuple):
        return repr([shown(item) for item in value])
    if isinstance(value, dict):
        return repr({name: shown(item) for name, item in value.items()})
    return repr(value)


def _need(holds: bool) -> None:
    if not holds:
        raise Refused


def _atom(value: Any, kind: Atomic) -> Any:
    name = kind.name
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if name in (*_BITS, "FLOAT", "DOUBLE", "DECIMAL"):
        _need(is_number)
        convert = {"FLOAT": _single, "DOUBLE": _double}.get(name)
        if convert is not None:
            return convert(value)
        return _decimal(value, kind) if name == "DECIMAL" else _whole(value, _BITS[name])
    if name in ("STRING", "VARCHAR", "CHAR"):
        _need(isinstance(value, str))
        length = kind.length or 0
        if name == "STRING":
            return value
        _need(len(value.rstrip(" ")) <= length or len(value) <= length)
        return value[:length].ljust(length) if name == "CHAR" else value[:length]
    if name in ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ"):
        return _time(value, name)
    _need(isinstance(value, bool if name == "BOOLEAN" else bytes))
    return value


def _whole(value: Any, bits: int) -> int:
    _need(math.isfinite(value) and value == int(value))
    _need(-(2 ** (bits - 1)) <= value < 2 ** (bits - 1))
    return int(value)


def _double(value: Any) -> float:
    try:
        found = float(value)
    except OverflowError:
        raise Refused from None
    _need(isinstance(value, float) or math.isfinite(found))
    _need(not isinstance(value, int) or int(found) == value)
    return found


def _single(value: Any) -> float:
    """The nearest of the three numbers of 32 bits about it; of two as near, the even one."""
    near = _double(value) if not isinstance(value, int) else float(value)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.float32(near)
    if not math.isfinite(near):
        return near
    _need(bool(np.isfinite(middle)))
    exact = Fraction(value)
    ends = (np.float32("-inf"), np.float32("inf"))
    around = [middle, *(np.nextafter(middle, end) for end in ends)]
    finite = [number for number in around if np.isfinite(number)]

    def distance(number: np.float32) -> tuple[Fraction, int]:
        return abs(Fraction(float(number)) - exact), int(number.view(np.uint32)) & 1

    found = float(min(finite, key=distance))
    _need(not isinstance(value, int) or int(found) == value)
    return math.copysign(found, near)


def _decimal(value: Any, kind: Atomic) -> Decimal:
    _need(math.isfinite(value))
    digits, scale = kind.length or 0, kind.scale or 0
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    try:
        found = exact.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    except InvalidOperation:
        raise Refused from None
    _need(isinstance(value, float) or found == exact)
    _need(abs(found) < Decimal(10) ** (digits - scale))
    return found if found else abs(found)


def _time(value: Any, name: str) -> Any:
    _need(isinstance(value, dt.date))
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    offset = value.utcoffset()
    if name == "TIMESTAMP":
        _need(not offset)
        return value.replace(tzinfo=None)
    instant = value.replace(tzinfo=UTC) if offset is None else value.astimezone(UTC)
    if name == "TIMESTAMP_LTZ":
        return instant
    _need(instant.time() == dt.time())
    return instant.date()


def _int(random: Random) -> int:
    edge = 2 ** random.choice((7, 15, 24, 31, 53, 63))
    return random.choice((0, 1, -5, 100, edge, edge - 1, -edge, random.randrange(-edge, edge)))


def _float(random: Random) -> float:
    cents = random.randrange(-(10**7), 10**7) / 1000
    edges = (
        0.0,
        -0.0,
        1.0,
        0.125,
        1.255,
        2.675,
        999.995,
        1e-9,
        3e7,
        2.0**53,
        2.0**63,
        1e40,
        -1e300,
    )
    special = (float("inf"), float("-inf"), float("nan"))
    rare = random.choice(special) if random.random() < 0.2 else random.choice(edges)
    return random.choice((cents, rare, random.uniform(-10, 10), float(random.randrange(200))))


def _any_decimal(random: Random) -> Decimal:
    digits = random.randrange(10 ** random.choice((1, 3, 5, 17, 20)))
    return Decimal(random.choice((1, -1)) * digits).scaleb(random.choice((0, 0, -1, -2, -3, 2)))


def _moment(random: Random) -> dt.datetime:
    day = dt.datetime(2020, 1, 1) + dt.timedelta(days=random.randrange(-700_000, 2_000_000))
    more = (0, 0, 15 * 3_600_000_000, random.randrange(86_400_000_000))
    return day + dt.timedelta(microseconds=random.choice(more))


def _bytes(random: Random) -> bytes:
    return bytes(random.randrange(256) for _ in range(random.randrange(4)))


def _text(random: Random) -> str:
    return random.choice(("", "a", "é", "abc", "abc  ", "abcd", "語語語", "   ", "1", "2020-01-01"))


# The classes of values. All values of a column are of one class, so that an array holds them.
CLASSES: dict[str, Callable[[Random], Any]] = {
    "int": _int,
    "float": _float,
    "decimal": _any_decimal,
    "bool": lambda random: random.random() < 0.5,
    "text": _text,
    "bytes": _bytes,
    "date": lambda random: _moment(random).date(),
    "naive": _moment,
    "utc": lambda random: _moment(random).replace(tzinfo=UTC),
    "tokyo": lambda random: _moment(random).replace(tzinfo=TOKYO),
}
_USUAL = {
    **dict.fromkeys((*_BITS, "FLOAT", "DOUBLE", "DECIMAL"), ("int", "float", "decimal")),
    **dict.fromkeys(("STRING", "VARCHAR", "CHAR"), ("text",)),
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_LTZ"), ("date", "naive", "utc", "tokyo")),
    "BOOLEAN": ("bool",),
}


def column(kind: DataType, rows: int, random: Random, *, wrong: float = 0.1) -> list[Any]:
    """Values for a column, of which some, or all, may not fit. `wrong` is the chance of values of a
    class, or names of fields, that never fit.
    """
    is_wrong = random.random() < wrong
    match kind:
        case Array(element):
            lengths = [random.randrange(4) for _ in range(rows)]
            items = iter(column(element, sum(lengths), random, wrong=wrong))
            found: list[Any] = [[next(items) for _ in range(length)] for length in lengths]
        case Map():
            lengths = [random.randrange(3) for _ in range(rows)]
            keys = iter(column(kind.key, sum(lengths), random, wrong=wrong))
            values = iter(column(kind.value, sum(lengths), random, wrong=wrong))
            found = [
                [{"key": next(keys), "value": next(values)} for _ in range(length)]
                for length in lengths
            ]
        case Row(fields):
            names = [random.choice((field.name, field.name.upper())) for field in fields]
            parts = [column(field.type, rows, random, wrong=wrong) for field in fields]
            if is_wrong:
                names[0] = "other"
            order = random.sample(range(len(names)), len(names))
            found = [{names[n]: parts[n][row] for n in order} for row in range(rows)]
        case Atomic(name=name):
            usual = _USUAL.get(name, ("bytes",))
            draw = CLASSES[random.choice(tuple(CLASSES) if is_wrong else usual)]
            found = [draw(random) for _ in range(rows)]
    return [None if random.random() < 0.15 else value for value in found]
