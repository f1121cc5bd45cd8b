"""Values of manifests as text: as JSON and metadata tables show them, and as Paimon names folders.

DATE is days, TIMESTAMP microseconds, both int; `literals` has the other forms.
"""

import math
from decimal import Decimal
from typing import Any

from keyfold.errors import NotSupportedError
from keyfold.types import java_text
from keyfold.types.logical import Atomic, DataType
from keyfold.types.type_table import BINARIES, TIMES


def shown(value: Any, kind: DataType) -> Any:
    """A value as JSON holds it. DATE, TIME and TIMESTAMP are in ISO form; DECIMAL, NaN and
    infinities are text. BYTES are text if they are UTF-8, else hex.
    """
    if value is None or isinstance(value, bool):
        return value
    name = kind.name if isinstance(kind, Atomic) else ""
    if name == "DATE":
        return java_text.iso_date(value)
    if name in TIMES:
        return java_text.iso_time(value)
    if name == "TIME":
        return java_text.iso_clock(value)
    if isinstance(value, bytes):
        return _text_of(value)
    if isinstance(value, Decimal) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value


def _text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def plain(value: Any, kind: DataType, null: str) -> str:
    """A value as one text; `null` is that of NULL."""
    if value is None:
        return null
    return str(value).lower() if isinstance(value, bool) else str(shown(value, kind))


def in_folder(value: Any, kind: DataType, is_legacy: bool) -> str:
    """The text of a non-null value in the name of its partition's folder; legacy is Java's toString
    of the stored form. Raises ValueError if only that form can name it.
    """
    assert isinstance(kind, Atomic)
    match kind.name:
        case "BOOLEAN":
            return "true" if value else "false"
        case "DATE":
            return str(value) if is_legacy else _in_range(java_text.iso_date(value))
        case "DECIMAL":
            return f"{value:f}"
        case "FLOAT":
            return java_text.floating(value, java_text.FLOAT_BITS)
        case "DOUBLE":
            return java_text.floating(value, java_text.DOUBLE_BITS)
        case name if name in TIMES:
            return _timestamp(value, kind, is_legacy)
        case name if name in BINARIES:
            raise NotSupportedError("a BINARY column can't be a partition column")
    return str(value)


def _timestamp(micros: int, kind: Atomic, is_legacy: bool) -> str:
    if is_legacy:
        return _iso(micros)
    if kind.name == "TIMESTAMP_LTZ":
        raise NotSupportedError("partition.legacy-name = false with a TIMESTAMP partition column")
    text, fraction = _in_range(java_text.iso_time(micros, "microseconds")).split(".")
    fraction += "000"
    while len(fraction) > (kind.length or 0) and fraction.endswith("0"):
        fraction = fraction[:-1]
    text = text.replace("T", " ")
    return f"{text}.{fraction}" if fraction else text


def _in_range(text: str) -> str:
    """The text; raises ValueError if Paimon would write only four digits of its year."""
    if text[0] in "+-":
        raise ValueError(text)
    return text


def _iso(micros: int) -> str:
    """LocalDateTime.toString; seconds and fraction are left out if they are zero."""
    if micros % 1_000_000:
        return java_text.iso_time(micros, "microseconds" if micros % 1000 else "milliseconds")
    return java_text.iso_time(micros, "seconds" if micros % 60_000_000 else "minutes")
