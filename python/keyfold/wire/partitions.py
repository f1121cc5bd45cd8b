"""A partition as one value: what its columns hold, its folder, and the text that shows it.

Folders are spelled as Paimon's Java and Python spell them: values are formatted by type and escaped
as Hive does; NULL and blank text go to the default partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from keyfold.errors import NotSupportedError
from keyfold.types.arrow import to_arrow
from keyfold.types.literals import arrow_array, manifest_value
from keyfold.types.value_text import in_folder, plain
from keyfold.wire.layout import TableLayout

DEFAULT_PARTITION = "__DEFAULT_PARTITION__"
POSTPONED = -2  # the number in place of a bucket's, of rows that get their buckets later
_ESCAPES = {code: f"%{code:02X}" for code in (*range(32), *map(ord, "\"#%'*/:=?\\{}[]^\x7f"))}
# JSON has no such values, or not all of them: they travel as text.
_AS_TEXT: Mapping[str, Callable[[str], Any]] = {"float": float, "Decimal": Decimal}


@dataclass(frozen=True)
class Partition:
    """The `values` are those of manifests, in the order of the partition columns. `path` is below
    the table's folder. An unpartitioned table has one partition, without values and text.
    """

    values: tuple[Any, ...] = ()
    path: str = ""
    text: str | None = None

    @staticmethod
    def of(layout: TableLayout, values: Sequence[Any]) -> Partition:
        """The partition of a table that has these values. Raises NotSupportedError if no folder can
        be named after one of them.
        """
        path = "/".join(_folder_names(layout, values))
        return Partition(tuple(values), path, partition_text(layout, values))

    def folder(self, layout: TableLayout) -> str:
        """The directory of its buckets."""
        location = layout.location.rstrip("/")
        return f"{location}/{self.path}" if self.path else location

    def bucket_folder(self, layout: TableLayout, bucket: int) -> str:
        """The directory of one of its buckets."""
        return f"{self.folder(layout)}/{bucket_name(bucket)}"

    def scalars(self, layout: TableLayout) -> dict[str, pa.Scalar]:
        """The values by the names of their columns, in the Arrow types of these."""
        names = layout.partition_keys if self.values else ()
        return {
            name: arrow_array([value], layout.column(name).type)[0]
            for name, value in zip(names, self.values, strict=True)
        }

    def to_json(self) -> Any:
        """The partition as it travels."""
        return [list(map(_sent, self.values)), self.path, self.text] if self.values else None

    @staticmethod
    def from_json(json: Any) -> Partition:
        """The inverse of `to_json`."""
        if json is None:
            return UNPARTITIONED
        values, path, text = json
        return Partition(tuple(map(_received, values)), path, text)


UNPARTITIONED = Partition()


def bucket_name(bucket: int) -> str:
    """The name of the folder of a bucket."""
    return "bucket-postpone" if bucket == POSTPONED else f"bucket-{bucket}"


def _sent(value: Any) -> Any:
    name = type(value).__name__
    return {name: str(value)} if name in _AS_TEXT else value


def _received(json: Any) -> Any:
    if not isinstance(json, dict):
        return json
    ((name, text),) = json.items()
    return _AS_TEXT[name](text)


def partition_text(layout: TableLayout, values: Sequence[Any]) -> str | None:
    """`p=v/q=w`, with the default partition's name for NULL; None in an unpartitioned table."""
    if not layout.partition_keys:
        return None
    default, kinds = default_name(layout), [layout.column(n).type for n in layout.partition_keys]
    return "/".join(
        f"{name}={plain(value, kind, default)}"
        for name, value, kind in zip(layout.partition_keys, values, kinds, strict=True)
    )


def value_of_text(layout: TableLayout, name: str, text: str) -> Any:
    """The value of a partition column that a text stands for, as manifests have it; None for the
    default partition's name. Raises ArrowInvalid, ArrowNotImplementedError or InvalidOperation if
    the column is of another type.
    """
    if text == default_name(layout):
        return None
    kind = to_arrow(layout.column(name).type)
    # Arrow's cast of texts gives another decimal where the digits are too many.
    is_decimal = pa.types.is_decimal(kind)
    found = pa.array([Decimal(text)], kind) if is_decimal else pa.array([text]).cast(kind)
    return manifest_value(found[0])


def default_name(layout: TableLayout) -> str:
    """The name of the partition of NULL."""
    return layout.options.get("partition.default-name", DEFAULT_PARTITION)


def _folder_names(layout: TableLayout, values: Sequence[Any]) -> list[str]:
    """`name=value` for each partition column, escaped."""
    default = default_name(layout)
    is_legacy = layout.options.get("partition.legacy-name", "true").lower() != "false"
    parts = []
    for name, value in zip(layout.partition_keys, values, strict=True):
        text = None if value is None else _in_folder(layout, name, value, is_legacy)
        shown = default if text is None or not text.strip() else text
        parts.append(f"{_escaped(name)}={_escaped(shown)}")
    return parts


def _in_folder(layout: TableLayout, name: str, value: Any, is_legacy: bool) -> str:
    try:
        return in_folder(value, layout.column(name).type, is_legacy)
    except ValueError as error:
        raise NotSupportedError(
            f"table {layout.name}: partition column {name} can't be {error}, which its folder "
            "can't name while partition.legacy-name is false"
        ) from None


def _escaped(text: str) -> str:
    """The text with percent escapes for the characters Hive escapes; others, blanks too, stay."""
    return text.translate(_ESCAPES)
