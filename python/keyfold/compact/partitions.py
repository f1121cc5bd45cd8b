"""The partitions that a compaction takes: Paimon's text `pt=1,h=2;pt=2`, and conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.files.paths import DEFAULT_PARTITION
from keyfold.predicates.prune import on_partitions
from keyfold.storage.metadata.entries import values_of
from keyfold.types.arrow import to_arrow
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate

Values = tuple[Any, ...]


def chosen(
    layout: TableLayout, text: str | None, where: Sequence[Predicate]
) -> Callable[[Values], bool] | None:
    """Whether a partition (values as manifests have them) is taken; None if all are.

    Raises TableError if the text does not fit the table. Raises NotSupportedError if a condition
    is not about partitions as a whole.
    """
    named = [] if text is None or not text.strip() else _named(layout, text)
    if not named and not where:
        return None
    satisfies = on_partitions(layout, where, f"compaction of table {layout.name}")

    def takes(values: Values) -> bool:
        by_name = dict(zip(layout.partition_keys, values, strict=True))
        is_named = not named or any(one.items() <= by_name.items() for one in named)
        return satisfies(values) and is_named

    return takes


def _named(layout: TableLayout, text: str) -> list[Mapping[str, Any]]:
    return [
        dict(_pair(layout, pair) for pair in one.split(","))
        for one in text.split(";")
        if one.strip()
    ]


def _pair(layout: TableLayout, pair: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or name not in layout.partition_keys:
        keys = ", ".join(layout.partition_keys) or "there is none"
        raise TableError(
            f"compaction of table {layout.name}: expected partitions such as `a=1,b=2;a=3` of the "
            f"partition columns ({keys}), found '{pair.strip()}'"
        )
    return name, _value(layout, name, value)


def _value(layout: TableLayout, name: str, text: str) -> Any:
    if text == layout.options.get("partition.default-name", DEFAULT_PARTITION):
        return None
    kind = to_arrow(layout.column(name).type)
    try:
        return values_of(pa.array([text]).cast(kind))[0]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"compaction of table {layout.name}: partition column {name} is of another type than "
            f"'{text}': {error}"
        ) from error
