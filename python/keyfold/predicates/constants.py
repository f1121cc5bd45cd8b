"""The constants of an IN, decoded once: a list of a thousand values is asked about every file, row
group and batch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from keyfold.types.literals import Unknown, arrow_array, value_of
from keyfold.types.logical import DataType
from keyfold.wire.specs import Json


@dataclass(frozen=True)
class Members:
    """The values of a list, as values of one column type. `ordered` leaves NULL out."""

    type: DataType
    ordered: tuple[Any, ...]
    has_null: bool

    def reach_into(self, low: Any, high: Any) -> bool:
        """Whether one of the values is from low to high."""
        at = bisect_left(self.ordered, low)
        return at < len(self.ordered) and bool(self.ordered[at] <= high)

    @property
    def is_empty(self) -> bool:
        """Whether there is no constant: then nothing is among them, and NULL is not either."""
        return not self.ordered and not self.has_null

    @cached_property
    def array(self) -> pa.Array:
        """The values, NULL left out."""
        return arrow_array(list(self.ordered), self.type)


class Constants(list[Json]):
    """The arguments of an IN, a column and constants, as they are on the wire."""

    def __init__(self, args: Sequence[Json]) -> None:
        super().__init__(args)
        self._members: dict[DataType, Members] = {}

    def members(self, kind: DataType) -> Members:
        """The constants as values of a column type."""
        found = self._members.get(kind)
        if found is None:
            found = self._members[kind] = _members(self, kind)
        return found


def members(args: Sequence[Json], kind: DataType) -> Members:
    """The constants behind the column in the arguments of an IN. Raises Unknown if one of them is
    not a constant of the column's type.
    """
    return args.members(kind) if isinstance(args, Constants) else _members(args, kind)


def _members(args: Sequence[Json], kind: DataType) -> Members:
    if any("literal" not in arg for arg in args[1:]):
        raise Unknown
    values = {value_of(arg, kind) for arg in args[1:]}
    return Members(kind, tuple(sorted(values - {None})), None in values)


def prepared(predicate: Json) -> Json:
    """The same predicate; its lists are decoded at their first use and kept."""
    op, args = predicate["op"], predicate.get("args", ())
    if op == "IN":
        return {**predicate, "args": Constants(args)}
    if op in ("AND", "OR", "NOT"):
        return {**predicate, "args": [prepared(arg) for arg in args]}
    return predicate
