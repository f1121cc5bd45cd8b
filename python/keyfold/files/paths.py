"""Directories of buckets, spelled as Paimon's Java and Python spell them.

Partition values are formatted by type and escaped as Hive does. NULL and blank text go to the
default partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from keyfold.errors import NotSupportedError
from keyfold.types import java_text
from keyfold.types.literals import manifest_value
from keyfold.types.logical import Atomic, DataType
from keyfold.wire.layout import TableLayout

DEFAULT_PARTITION = "__DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\{}[]^\x7f") | {chr(code) for code in range(32)}


def bucket_path(layout: TableLayout, partition: pa.RecordBatch | None, bucket: int) -> str:
    """The directory of a bucket. `partition` is a batch of one row, or None if the table is
    unpartitioned.
    """
    columns = () if partition is None else map(partition.column, layout.partition_keys)
    return bucket_folder(layout, [manifest_value(column[0]) for column in columns], bucket)


def bucket_folder(layout: TableLayout, values: Sequence[Any], bucket: int) -> str:
    """The directory of a bucket of the partition of these values, as manifests have them."""
    parts = partition_parts(layout, values)
    return "/".join([layout.location.rstrip("/"), *parts, f"bucket-{bucket}"])


def partition_parts(layout: TableLayout, values: Sequence[Any]) -> list[str]:
    """`name=value` for each partition column, escaped; `values` have the form of manifests."""
    default = layout.options.get("partition.default-name", DEFAULT_PARTITION)
    is_legacy = layout.options.get("partition.legacy-name", "true").lower() != "false"
    parts = []
    for name, value in zip(layout.partition_keys, values, strict=True):
        text = None if value is None else _text(layout, name, value, is_legacy)
        shown = default if text is None or not text.strip() else text
        parts.append(f"{escape(name)}={escape(shown)}")
    return parts


def _text(layout: TableLayout, name: str, value: Any, is_legacy: bool) -> str:
    try:
        return format_value(value, layout.column(name).type, is_legacy)
    except ValueError as error:
        raise NotSupportedError(
            f"table {layout.name}: partition column {name} can't be {error}, which its folder "
            "can't name while partition.legacy-name is false"
        ) from None


def escape(text: str) -> str:
    """The text with percent escapes for the characters Hive escapes; others, blanks too, stay."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def format_value(value: Any, data_type: DataType, is_legacy: bool) -> str:
    """The text of one non-null partition value; legacy is Java's toString of the stored form."""
    assert isinstance(data_type, Atomic)
    match data_type.name:
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
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return _timestamp(value, data_type, is_legacy)
        case "BINARY" | "VARBINARY" | "BYTES":
            raise NotSupportedError("a BINARY column can't be a partition column")
    return str(value)


def _timestamp(micros: int, data_type: Atomic, is_legacy: bool) -> str:
    if is_legacy:
        return _iso(micros)
    if data_type.name == "TIMESTAMP_LTZ":
        raise NotSupportedError("partition.legacy-name = false with a TIMESTAMP partition column")
    text, fraction = _in_range(java_text.iso_time(micros, "microseconds")).split(".")
    fraction += "000"
    while len(fraction) > (data_type.length or 0) and fraction.endswith("0"):
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
