"""The partitions that conditions on the column `partition` of a metadata table ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import InvalidOperation
from typing import Any

import pyarrow as pa

from keyfold.storage.metadata.partition_bounds import Bounded, Bounds, Partition, SomePartitions
from keyfold.types.literals import FLOATING, Constant, Unknown
from keyfold.types.logical import name_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import partition_text, value_of_text
from keyfold.wire.predicates import Predicate, conjuncts

COLUMN = "partition"
_INEXACT = {*FLOATING, "CHAR"}  # values of other bytes have the same text


@dataclass(frozen=True)
class PartitionTexts:
    """The condition that the text of a partition is one of some. Its values are those in `may_be`,
    if texts say them.
    """

    layout: TableLayout
    texts: frozenset[str]
    may_be: Bounded | None

    def __call__(self, values: Partition, /) -> bool:
        return partition_text(self.layout, values) in self.texts

    def may_hold(self, bounds: Sequence[Bounds], /) -> bool:
        """Whether one of them may be between bounds of its columns."""
        return self.may_be is None or self.may_be.may_hold(bounds)


def asked_partitions(layout: TableLayout, filters: Sequence[Predicate]) -> PartitionTexts | None:
    """The partitions that all filters leave: equality with texts says them; None if none does. The
    filters are applied again to the rows.
    """
    texts: set[str] | None = None
    for one in conjuncts(filters):
        if (named := _texts(one)) is not None:
            texts = named if texts is None else texts & named
    if texts is None:
        return None
    values = [_values(layout, text) for text in sorted(texts)]
    known = [of for of in values if of is not None]
    may_be = SomePartitions(known) if len(known) == len(values) else None
    return PartitionTexts(layout, frozenset(texts), may_be)


def _texts(one: Predicate) -> set[str] | None:
    try:
        is_about = one.op in ("=", "IN") and one.column == COLUMN
    except Unknown:
        return None
    constants = [arg.value for arg in one.args[1:] if isinstance(arg, Constant)]
    return {text for text in constants if isinstance(text, str)} if is_about else None


def _values(layout: TableLayout, text: str) -> Partition | None:
    """The values of a partition by its text; None if the text may be that of others too."""
    keys, parts = layout.partition_keys, text.split("/")
    kinds = {name_of(layout.column(name).type) for name in keys}
    if kinds & _INEXACT or len(parts) != len(keys):
        return None
    try:
        found = tuple(_each(layout, parts))
    except (ValueError, NotImplementedError, InvalidOperation):
        return None
    return found if partition_text(layout, found) == text and None not in found else None


def _each(layout: TableLayout, parts: Sequence[str]) -> Iterator[Any]:
    for name, part in zip(layout.partition_keys, parts, strict=True):
        if not part.startswith(f"{name}="):
            raise pa.ArrowInvalid(part)
        yield value_of_text(layout, name, part.removeprefix(f"{name}="))
