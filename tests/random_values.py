"""Random values of every type, drawn from few and awkward ones, so that ties, edges and nulls come
up.
"""

import datetime
import struct
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

EPOCH = datetime.datetime(1970, 1, 1)
FLOATS = (0.0, -0.0, 1.5, -2.25, 3e7, -1e-3, float("inf"), float("-inf"), float("nan"))
TEXTS = (
    "",
    "a",
    "b",
    "ab",
    "a\0",
    "a\0b",
    "abcdefg",
    "abcdefgh",
    "abcdefghi",
    "user-00001",
    "é",
    "語",
)
INTEGERS = (0, 1, -1, 2, 7, 100, -100)

ATOMIC: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.utf8(),
    "BYTES": pa.binary(),
    "DATE": pa.date32(),
    "TIME(3)": pa.time64("ns"),
    "DECIMAL(5, 2)": pa.decimal128(5, 2),
    "DECIMAL(18, 0)": pa.decimal128(18, 0),
    "DECIMAL(38, 3)": pa.decimal128(38, 3),
    "TIMESTAMP(6)": pa.timestamp("us"),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": pa.timestamp("us", "UTC"),
}


def _integer(kind: pa.DataType, random: Random) -> int:
    if random.random() < 0.9:
        return random.choice(INTEGERS)
    edge: int = 2 ** (kind.bit_width - 1)
    return random.choice((edge - 1, -edge, random.randrange(-edge, edge)))


def _float(kind: pa.DataType, random: Random) -> Any:
    value = random.choice(FLOATS)
    return np.float32(value) if kind.bit_width == 32 else value


def _text(kind: pa.DataType, random: Random) -> str | bytes:
    text = random.choice(TEXTS)
    if types.is_binary(kind):
        return text.encode() + (b"\xff" if random.random() < 0.2 else b"")
    return text


def _decimal(kind: pa.DataType, random: Random) -> Decimal:
    digits = random.choice((1, 2, kind.precision - 1, kind.precision))
    unscaled = random.choice((1, -1)) * random.randrange(10**digits)
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -kind.scale))


def _timestamp(kind: pa.DataType, random: Random) -> datetime.datetime:
    micros = random.choice((0, 1, -1, 1_704_067_200_000_001, -86_400_000_000))
    moment = EPOCH + datetime.timedelta(microseconds=micros)
    return moment.replace(tzinfo=datetime.timezone.utc) if kind.tz else moment


def _time(_: pa.DataType, random: Random) -> datetime.time:
    millis = random.choice((0, 1, 999, 43_200_000, 86_399_999))
    return (EPOCH + datetime.timedelta(milliseconds=millis)).time()


_MAKERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, Random], Any]], ...] = (
    (types.is_boolean, lambda kind, random: random.random() < 0.5),
    (types.is_integer, _integer),
    (types.is_floating, _float),
    (types.is_decimal, _decimal),
    (types.is_timestamp, _timestamp),
    (types.is_time, _time),
    (
        types.is_date,
        lambda kind, random: EPOCH.date() + datetime.timedelta(random.randrange(-2, 3)),
    ),
    (lambda kind: types.is_string(kind) or types.is_binary(kind), _text),
    (
        types.is_list,
        lambda kind, random: [
            value(kind.value_type, random, 0.1) for _ in range(random.randrange(4))
        ],
    ),
    (
        types.is_map,
        lambda kind, random: [
            (key, value(kind.item_type, random))
            for key in {value(kind.key_type, random): None for _ in range(random.randrange(3))}
        ],
    ),
    (types.is_struct, lambda kind, random: {f.name: value(f.type, random) for f in kind}),
)


def value(kind: pa.DataType, random: Random, null_rate: float = 0.0) -> Any:
    """A random value of an Arrow type, None at `null_rate`; FLOAT gives numpy.float32."""
    if random.random() < null_rate:
        return None
    return next(make for test, make in _MAKERS if test(kind))(kind, random)


def same(left: Any, right: Any) -> bool:
    """Whether two values are one: NaN is NaN, -0.0 is not 0.0."""
    return bool(_exact(left) == _exact(right))


def _exact(item: Any) -> Any:
    if isinstance(item, float | np.floating):
        return "NaN" if item != item else struct.pack("d", float(item))
    if isinstance(item, list | tuple):
        return [_exact(part) for part in item]
    if isinstance(item, dict):
        return {name: _exact(part) for name, part in item.items()}
    return item
