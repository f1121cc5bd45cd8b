"""Directories of buckets, spelled as Paimon's Java and Python spell them.

Partition values are formatted by type, escaped as Hive does, NULL and blank text go to the default
partition.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.errors import NotSupportedError
from keyfold.layout import TableLayout
from keyfold.types import Atomic, DataType

DEFAULT_PARTITION = "__DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\{}[]^\x7f") | {chr(code) for code in range(32)}
_EPOCH = datetime.date(1970, 1, 1)


def bucket_path(layout: TableLayout, partition: pa.RecordBatch | None, bucket: int) -> str:
    """The directory of a bucket; `partition` is a one-row batch, None in an unpartitioned table."""
    parts = [layout.location.rstrip("/")]
    if partition is not None:
        values = (partition.column(name)[0].as_py() for name in layout.partition_keys)
        parts += partition_parts(layout, list(values))
    return "/".join([*parts, f"bucket-{bucket}"])


def partition_parts(layout: TableLayout, values: list[Any]) -> list[str]:
    """`name=value` for each partition column, escaped."""
    default = layout.options.get("partition.default-name", DEFAULT_PARTITION)
    is_legacy = layout.options.get("partition.legacy-name", "true").lower() != "false"
    parts = []
    for name, value in zip(layout.partition_keys, values, strict=True):
        text = None if value is None else format_value(value, layout.column(name).type, is_legacy)
        shown = default if text is None or not text.strip() else text
        parts.append(f"{escape(name)}={escape(shown)}")
    return parts


def escape(text: str) -> str:
    """Percent escapes of the characters Hive escapes; others, blanks too, stay."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def format_value(value: Any, data_type: DataType, is_legacy: bool) -> str:
    """The text of one non-null partition value; legacy is Java's toString of the stored form."""
    assert isinstance(data_type, Atomic)
    match data_type.name:
        case "BOOLEAN":
            return "true" if value else "false"
        case "DATE":
            return str((value - _EPOCH).days) if is_legacy else str(value.isoformat())
        case "DECIMAL":
            return f"{value:f}"
        case "FLOAT":
            return _floating(str(np.float32(value)))
        case "DOUBLE":
            return _floating(repr(float(value)))
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return _timestamp(value, data_type, is_legacy)
        case "BINARY" | "VARBINARY" | "BYTES":
            raise NotSupportedError("a BINARY column can't be a partition column")
    return str(value)


def _timestamp(value: datetime.datetime, data_type: Atomic, is_legacy: bool) -> str:
    bare = value.replace(tzinfo=None)
    if is_legacy:
        return _iso(bare)
    if data_type.name == "TIMESTAMP_LTZ":
        raise NotSupportedError("partition.legacy-name = false with a TIMESTAMP partition column")
    text = bare.strftime("%Y-%m-%d %H:%M:%S")
    fraction = f"{bare.microsecond:06d}000"
    while len(fraction) > (data_type.length or 0) and fraction.endswith("0"):
        fraction = fraction[:-1]
    return f"{text}.{fraction}" if fraction else text


def _iso(value: datetime.datetime) -> str:
    """LocalDateTime.toString: seconds and fraction only where they are not zero."""
    if value.microsecond % 1000:
        return value.isoformat(timespec="microseconds")
    if value.microsecond:
        return value.isoformat(timespec="milliseconds")
    return value.isoformat(timespec="seconds" if value.second else "minutes")


def _floating(shortest: str) -> str:
    """Java's Double.toString, given the shortest digits that read back."""
    number = Decimal(shortest)
    if not number.is_finite():
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[shortest]
    if number.is_zero() or Decimal("0.001") <= abs(number) < Decimal("1e7"):
        text = f"{number:f}"
        return text if "." in text else text + ".0"
    mantissa, exponent = f"{number.normalize():e}".split("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
