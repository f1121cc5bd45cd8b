"""Aggregates `WITHIN GROUP (ORDER BY …)`: the rows of a group are kept, each with its keys of the
order, and fold in that order at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.group_by.accumulate import Accumulated, GroupError
from keyfold.group_by.bound import BoundCall
from keyfold.group_by.shared import SharedCall
from keyfold.group_by.spark_order import ranks
from keyfold.group_by.stated import Folds, Held, StateCall
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.folds.running import Numbers
from keyfold.lazy import cached_property
from keyfold.types.logical import Array, DataType
from keyfold.types.spark import from_spark

_PIECE = 1 << 12  # groups whose rows are ordered at once


@dataclass(frozen=True)
class Direction:
    """How rows are ordered by one of their keys."""

    is_descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class OrderedCall:
    """A call of `fold` whose rows are a struct of the value and the keys."""

    fold: Held | SharedCall | StateCall
    type: DataType
    order: Sequence[Direction]

    @staticmethod
    def of(fold: Held | SharedCall | StateCall, found: Mapping[str, Any]) -> OrderedCall:
        """From the JVM's JSON."""
        order = [Direction(*directions) for directions in found["order"]]
        return OrderedCall(fold, from_spark(found["type"]), order)

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of its results."""
        return self.fold.arrow_type

    @cached_property
    def kept(self) -> BoundCall:
        """The call that keeps the rows of each group, in the order in which they come."""
        return BoundCall("collect", Array(self.type), {})


class Ordered:
    """The groups of such a call."""

    keeps_rows = True

    def __init__(self, call: OrderedCall, inner: Folds, most_waiting: int) -> None:
        self.call, self._inner = call, inner
        self._rows = Accumulated(call.kept, most_waiting)

    @property
    def held(self) -> int:
        """See `Folds.held`."""
        return self._rows.held

    def clear(self) -> None:
        """See `Folds.clear`."""
        self._rows.clear()

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """See `Folds.add`."""
        kind = self.call.kept.arrow_type
        fields = list(kind.value_type)
        columns = zip(column.flatten(), fields, strict=True)
        rows = pa.StructArray.from_arrays(
            [own.cast(field.type) for own, field in columns], fields=fields
        )
        ends = pa.array(np.arange(len(rows) + 1, dtype=np.int32))
        self._rows.add(groups, pa.ListArray.from_arrays(ends, rows, type=kind))

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """See `Folds.merge`."""
        self._rows.merge(groups, states)

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """See `Folds.states`: all rows."""
        return self._rows.states(start, stop)

    def values(self, start: int, stop: int) -> pa.Array:
        """See `Folds.values`."""
        pieces = range(start, max(stop, start + 1), _PIECE)
        found = [self._folded(first, min(first + _PIECE, stop)) for first in pieces]
        return pa.concat_arrays(found)

    def _folded(self, start: int, stop: int) -> pa.Array:
        lists = self._rows.values(start, stop)
        counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
        groups = np.repeat(np.arange(stop - start, dtype=np.int32), counts)
        value, *keys = lists.flatten().flatten()
        self._inner.clear()
        try:
            if len(groups):
                rows = places(groups, keys, self.call.order)
                self._inner.add(groups, take(value, indices(rows)))
            found = self._inner.values(0, stop - start)
        except GroupError as error:  # numbers the groups of this piece
            raise GroupError(start + error.group, error.error) from error
        self._inner.clear()
        return found


def places(groups: Numbers, keys: Sequence[pa.Array], order: Sequence[Direction]) -> Rows:
    """The rows by their groups, which ascend, and in each by the keys; equal rows stay in order."""
    words: list[Any] = [_words(key, one) for key, one in zip(keys, order, strict=True)]
    return np.lexsort([*reversed(words), groups])


def _words(key: pa.Array, one: Direction) -> Rows:
    """Numbers that order the rows by one key."""
    found = ranks(key)
    is_null = found == 0
    found = -found if one.is_descending else found
    if is_null.any():
        found[is_null] = found.min() - 1 if one.nulls_first else found.max() + 1
    return found
