"""Texts in the rows of metadata tables: partitions, keys, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from keyfold.types.value_text import plain, shown
from keyfold.wire.layout import TableLayout


def row_text(layout: TableLayout, values: Sequence[Any]) -> str:
    """`{v, w}`: partition values as $manifests shows them."""
    kinds = [layout.column(name).type for name in layout.partition_keys]
    return "{" + ", ".join(plain(v, k, "null") for v, k in zip(values, kinds, strict=True)) + "}"


def key_text(layout: TableLayout, values: Sequence[Any]) -> str:
    """A key as a JSON array."""
    kinds = [layout.column(name).type for name in layout.key]
    return compact([shown(v, kind) for v, kind in zip(values, kinds, strict=True)])


def compact(value: Sequence[Any] | Mapping[str, Any]) -> str:
    """JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
