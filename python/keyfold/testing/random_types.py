"""SQL types by the names that decorators take, and small random values of them."""

import datetime
import decimal
from collections.abc import Mapping
from random import Random
from typing import Any

from keyfold.errors import FunctionError, NotSupportedError
from keyfold.types import logical
from keyfold.types.logical import Array, Field, Row
from keyfold.types.spark import atomic

_EPOCH = datetime.datetime(1970, 1, 1)


def logical_type(kind: str | Mapping[str, str]) -> logical.DataType:
    """keyfold's type of SQL names as decorators take them, and of ARRAY<…> of one.

    Raises FunctionError if the text is not such a name.
    """
    if isinstance(kind, Mapping):
        fields = enumerate(kind.items())
        return Row(tuple(Field(n, name, logical_type(one)) for n, (name, one) in fields))
    if (element := _element(kind)) is not None:
        return Array(logical_type(element))
    try:
        return atomic(kind)
    except NotSupportedError:
        raise FunctionError(
            f"expected a SQL type such as BIGINT, DECIMAL(10, 2) or ARRAY<STRING>, or a dict of "
            f"field names and types for a STRUCT, found {kind!r}"
        ) from None


def _element(kind: str) -> str | None:
    """The type of an ARRAY's elements; None if `kind` is not an ARRAY."""
    text = kind.strip()
    is_array = text.upper().startswith("ARRAY<") and text.endswith(">")
    return text[len("ARRAY<") : -1] if is_array else None


def small_value(kind: str | Mapping[str, str], random: Random) -> Any:
    """A random value of a SQL type, small, so that sums stay exact."""
    if isinstance(kind, Mapping):
        return {name: small_value(one, random) for name, one in kind.items()}
    element = _element(kind)
    if element is not None:
        return [small_value(element, random) for _ in range(random.randrange(4))]
    return _atomic(kind.strip().upper(), random)


def _atomic(kind: str, random: Random) -> Any:
    if kind in ("DOUBLE", "FLOAT"):
        return random.randrange(-80, 80) / 4
    if kind == "BOOLEAN":
        return random.random() < 0.5
    if kind in ("STRING", "BINARY"):
        text = "".join(random.choices("abcdé", k=random.randrange(1, 6)))
        return text if kind == "STRING" else text.encode()
    number = random.randrange(-9, 10)
    if kind == "DATE":
        return _EPOCH.date() + datetime.timedelta(days=number)
    if kind.startswith("TIMESTAMP"):
        moment = _EPOCH + datetime.timedelta(microseconds=number)
        return moment if kind == "TIMESTAMP_NTZ" else moment.replace(tzinfo=datetime.timezone.utc)
    return decimal.Decimal(number) if kind.startswith("DECIMAL") else number
