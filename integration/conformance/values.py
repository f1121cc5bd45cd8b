"""Cells: JSON to SQL literals on the way in, JSON and Arrow values to one comparable form after.

The comparable form of a value is plain and prints well: numbers and texts as they are, DOUBLE and
DECIMAL as text (so that -0.0, NaN and the scale count), bytes as X'..', tuples for the rest.
"""

import base64
import datetime
import struct
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from integration.conformance import bits

JSON_TYPES: tuple[tuple[Callable[[pa.DataType], bool], tuple[type, ...]], ...] = (
    (pa.types.is_boolean, (bool,)),
    (pa.types.is_integer, (int,)),
    (pa.types.is_floating, (float, int, str)),
    (pa.types.is_decimal, (str, int)),
)
PARSERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]], ...] = (
    (pa.types.is_floating, float),
    (pa.types.is_decimal, Decimal),
    (pa.types.is_date, datetime.date.fromisoformat),
    (pa.types.is_timestamp, datetime.datetime.fromisoformat),
)
WIDE = Context(prec=80)  # DECIMAL has 38 digits; sums of two may have more


def binary(cell: Any, function: str = "") -> bytes:
    """Bytes of a BINARY cell: base64, {"hex": …} or {"bitmap": […]}."""
    if isinstance(cell, str):
        return base64.b64decode(cell, validate=True)
    if "hex" in cell:
        return bytes.fromhex(cell["hex"])
    return bits.encode(cell["bitmap"], function)


def literal(cell: Any, kind: pa.DataType, function: str = "") -> str:
    """An SQL expression that a CAST to the column's type makes the value; atoms are texts."""
    if pa.types.is_list(kind):
        return _call("array", cell, [literal(item, kind.value_type) for item in cell or ()])
    if pa.types.is_map(kind):
        pairs = [(literal(k, kind.key_type), literal(v, kind.item_type)) for k, v in _items(cell)]
        return _call("map", cell, [part for pair in pairs for part in pair])
    if pa.types.is_struct(kind):
        parts = zip(kind, cell or (), strict=cell is not None)
        named = [(text(field.name), literal(item, field.type)) for field, item in parts]
        return _call("named_struct", cell, [part for pair in named for part in pair])
    if pa.types.is_binary(kind):
        return "CAST(NULL AS BINARY)" if cell is None else f"X'{binary(cell, function).hex()}'"
    if cell is None:
        return "CAST(NULL AS STRING)"
    return text(cell if isinstance(cell, str) else repr(cell))


def _call(function: str, cell: Any, arguments: list[str]) -> str:
    return "NULL" if cell is None else f"{function}({', '.join(arguments)})"


def _items(cell: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    return list((cell or {}).items())


def text(value: str) -> str:
    """A SQL string literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def expected(cell: Any, kind: pa.DataType) -> Any:
    """The comparable form of a JSON cell; ValueError where it is no value of the type."""
    if cell is None:
        return None
    if pa.types.is_list(kind):
        return tuple(expected(item, kind.value_type) for item in cell)
    if pa.types.is_map(kind):
        return _sorted(
            (expected(_key(k, kind.key_type), kind.key_type), expected(v, kind.item_type))
            for k, v in cell.items()
        )
    if pa.types.is_struct(kind):
        return tuple(expected(i, f.type) for f, i in zip(kind, cell, strict=True))
    if pa.types.is_binary(kind):
        has_bits = isinstance(cell, dict) and "bitmap" in cell
        return tuple(sorted(cell["bitmap"])) if has_bits else hexadecimal(binary(cell))
    return found(_atom(cell, kind), kind)


def _key(key: str, kind: pa.DataType) -> Any:
    """A map's key, which JSON makes a text."""
    if pa.types.is_boolean(kind):
        return key == "true"
    return int(key) if pa.types.is_integer(kind) else key


def _atom(cell: Any, kind: pa.DataType) -> Any:
    """The Python value of a cell of an atomic type, as Arrow gives it."""
    wanted = next((types for test, types in JSON_TYPES if test(kind)), (str,))
    if not isinstance(cell, wanted) or (isinstance(cell, bool) and bool not in wanted):
        raise ValueError(f"{cell!r} is no value of type {kind}")
    parse = next((parse for test, parse in PARSERS if test(kind)), None)
    return cell if parse is None else parse(cell)


def found(value: Any, kind: pa.DataType, is_bitmap: bool = False) -> Any:
    """The comparable form of a value that Arrow's `to_pylist` gives."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return tuple(found(item, kind.value_type) for item in value)
    if pa.types.is_map(kind):
        return _sorted((found(k, kind.key_type), found(v, kind.item_type)) for k, v in value)
    if pa.types.is_struct(kind):
        return tuple(found(value[field.name], field.type) for field in kind)
    if pa.types.is_binary(kind):
        return bits.decode(value) if is_bitmap else hexadecimal(value)
    if pa.types.is_floating(kind):
        return _float(value, kind)
    if pa.types.is_decimal(kind):
        return _decimal(value, kind.scale)
    if pa.types.is_timestamp(kind):
        return _utc(value).isoformat(sep=" ")
    return value.isoformat() if pa.types.is_date(kind) else value


def _float(value: float, kind: pa.DataType) -> str:
    if kind.bit_width == 32:
        value = struct.unpack("f", struct.pack("f", value))[0]
    return repr(value)


def _decimal(value: Decimal, scale: int) -> str:
    """With the scale of the type, or with its own where that has more digits."""
    scaled = value.quantize(Decimal((0, (1,), -scale)), context=WIDE)
    return f"{scaled if scaled == value else value:f}"


def _utc(value: datetime.datetime) -> datetime.datetime:
    if value.tzinfo is None:
        return value
    return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)


def hexadecimal(data: bytes) -> str:
    """Bytes as SQL writes them."""
    return f"X'{data.hex()}'"


def _sorted(items: Any) -> tuple[Any, ...]:
    return tuple(sorted(items, key=repr))
