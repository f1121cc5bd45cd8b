"""Values of manifests as text: partitions, keys, statistics."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from keyfold.files.paths import DEFAULT_PARTITION
from keyfold.types import java_text
from keyfold.types.logical import Atomic, DataType
from keyfold.wire.layout import TableLayout


def shown(value: Any, kind: DataType) -> Any:
    """A value as JSON holds it. DATE and TIMESTAMP are in ISO form; DECIMAL, NaN and infinities are
    text. BYTES are text if they are UTF-8, else hex.
    """
    if value is None or isinstance(value, bool):
        return value
    name = kind.name if isinstance(kind, Atomic) else ""
    if name == "DATE":
        return java_text.iso_date(value)
    if name.startswith("TIMESTAMP"):
        return java_text.iso_time(value)
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


def partition_text(layout: TableLayout, values: Sequence[Any]) -> str | None:
    """`p=v/q=w`, with the default partition's name for NULL; None in an unpartitioned table."""
    if not layout.partition_keys:
        return None
    default = layout.options.get("partition.default-name", DEFAULT_PARTITION)
    kinds = [layout.column(name).type for name in layout.partition_keys]
    texts = [_plain(shown(v, kind), default) for v, kind in zip(values, kinds, strict=True)]
    return "/".join(f"{n}={text}" for n, text in zip(layout.partition_keys, texts, strict=True))


def _plain(value: Any, default: str) -> str:
    if value is None:
        return default
    return str(value).lower() if isinstance(value, bool) else str(value)


def row_text(layout: TableLayout, values: Sequence[Any]) -> str:
    """`{v, w}`: partition values as $manifests shows them."""
    kinds = [layout.column(name).type for name in layout.partition_keys]
    cells = [_plain(shown(v, k), "null") for v, k in zip(values, kinds, strict=True)]
    return "{" + ", ".join(cells) + "}"


def key_text(layout: TableLayout, values: Sequence[Any]) -> str:
    """A key as a JSON array."""
    kinds = [layout.column(name).type for name in layout.key]
    return compact([shown(v, kind) for v, kind in zip(values, kinds, strict=True)])


def compact(value: Sequence[Any] | Mapping[str, Any]) -> str:
    """JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
