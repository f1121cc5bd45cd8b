"""The partitions that a job is about, by Paimon's text `pt=1,h=2;pt=2`, by conditions, or because
nothing was written to them for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import InvalidOperation
from time import time as now
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.lifetime.last_written import last_written
from keyfold.predicates.prune import PartitionCondition, on_partitions
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.partition_bounds import Bounds, SomePartitions, may_be
from keyfold.storage.table import Table
from keyfold.storage.waiting_files import waiting
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import value_of_text
from keyfold.wire.predicates import Predicate

Values = tuple[Any, ...]
Takes = Callable[[Values], bool]


def idle(table: Table, takes: Takes | None, seconds: float) -> Takes:
    """Whether a partition is one of those and was last written so long ago, or longer."""
    stored: dict[Values, list[LiveFile]] = {}
    for file in table.live_files(partition_filter=takes) + waiting(table, takes):
        stored.setdefault(file.partition, []).append(file)
    bound = (now() - seconds) * 1000
    return SomePartitions({of for of, at in last_written(table, stored).items() if at <= bound})


def taken(layout: TableLayout, text: str | None, where: Sequence[Predicate]) -> Takes | None:
    """Whether a partition (values as manifests have them) is taken; None if all are.

    Raises TableError if the text does not fit the table. Raises NotSupportedError if a condition
    is not about partitions as a whole.
    """
    doing = f"compaction of table {layout.name}"
    given = [] if text is None else named(layout, text, doing)
    satisfies = on_partitions(layout, where, doing)
    if not given:
        return satisfies if where else None

    return _NamedPartitions(layout.partition_keys, given, satisfies)


@dataclass(frozen=True)
class _NamedPartitions:
    """The condition that a partition is one of those named and `satisfies` another."""

    keys: tuple[str, ...]
    named: Sequence[Mapping[str, Any]]
    satisfies: PartitionCondition

    def __call__(self, values: Values) -> bool:
        by_name = dict(zip(self.keys, values, strict=True))
        is_named = any(one.items() <= by_name.items() for one in self.named)
        return self.satisfies(values) and is_named

    def may_hold(self, bounds: Sequence[Bounds]) -> bool:
        """Whether one of them may be between bounds of its columns."""
        by_name = dict(zip(self.keys, bounds, strict=True))
        is_named = any(
            all(may_be(value, by_name[name]) for name, value in one.items()) for one in self.named
        )
        return is_named and self.satisfies.may_hold(bounds)


def named(layout: TableLayout, text: str, doing: str) -> list[dict[str, Any]]:
    """The values of partition columns, as manifests have them, of each partition of a text. Raises
    TableError, which names what one is `doing`, if the text does not fit the table.
    """
    return [_one(layout, one, doing) for one in text.split(";") if one.strip()]


def _one(layout: TableLayout, text: str, doing: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in (_pair(layout, pair, doing) for pair in text.split(",")):
        if name in found:
            raise TableError(
                f"{doing}: partition '{text.strip()}' has two values for {name}; expected a "
                "semicolon between partitions"
            )
        found[name] = value
    return found


def _pair(layout: TableLayout, pair: str, doing: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or name not in layout.partition_keys:
        keys = ", ".join(layout.partition_keys) or "there is none"
        raise TableError(
            f"{doing}: expected partitions such as `a=1,b=2;a=3` of the "
            f"partition columns ({keys}), found '{pair.strip()}'"
        )
    return name, _value(layout, name, _unquoted(value), doing)


def _unquoted(value: str) -> str:
    """A value as the SQL of Paimon's procedures in Spark has it: `dt='2024-01-01'`, `dt="…"`."""
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value


def _value(layout: TableLayout, name: str, text: str, doing: str) -> Any:
    try:
        return value_of_text(layout, name, text)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, InvalidOperation) as error:
        raise TableError(
            f"{doing}: partition column {name} is of another type than '{text}': {error}"
        ) from error
