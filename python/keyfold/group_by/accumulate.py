"""The groups of one call in a task: values and states go in, values and states come out."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declaration import BadRecord
from keyfold.aggregates.group_totals import GroupValues, Overflow
from keyfold.errors import CorruptDataError, FoldOverflowError, KeyfoldError, TableError
from keyfold.group_by.bound import CATALOG, BoundCall
from keyfold.group_by.rounds import Rounds
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.merge.column_aggregate import wider_type
from keyfold.types import logical
from keyfold.types.arrow import to_arrow
from keyfold.types.sql import from_sql

_PIECE = 1 << 13  # groups that are encoded at once


class GroupError(Exception):
    """The values of a group can't be folded, for the reason `error`."""

    def __init__(self, group: int, error: KeyfoldError) -> None:
        super().__init__(str(error))
        self.group, self.error = group, error


class Accumulated:
    """The values of all groups of one call. Every method raises GroupError if a group has values
    that can't be folded.
    """

    def __init__(self, call: BoundCall, most_waiting: int) -> None:
        self.call = call
        self._aggregate = call.aggregate
        self._most_waiting = most_waiting
        self.clear()

    def clear(self) -> None:
        """Forget all groups."""
        kind, running = self.call.arrow_type, self._aggregate.running
        found = None if running is None else running(kind)
        self._groups: GroupValues = found or Rounds(self._aggregate, kind, self._most_waiting)

    @property
    def held(self) -> int:
        """The bytes that all groups, and rows that wait to be folded, take at most."""
        return self._groups.held

    @property
    def keeps_rows(self) -> bool:
        """Whether columns that are added stay in use."""
        return isinstance(self._groups, Rounds)

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add a value to each of these groups, one after another."""
        if self._aggregate.normalize is not None:
            try:
                column = self._aggregate.normalize(column)
            except BadRecord as error:
                raise self._bad(int(groups[error.group]), str(error)) from error
        self._add(groups, column)

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """Add states of other tasks to these groups. A NULL is the state of no rows."""
        if states.null_count:
            groups = np.ascontiguousarray(groups[states.is_valid().to_numpy(zero_copy_only=False)])
            states = states.drop_null()
        try:
            (column,) = decode(states, [self.call.arrow_type])
        except CorruptDataError as error:
            raise CorruptDataError(f"{self.call.words}, a state: {error}") from error
        self._add(groups, column)

    def values(self, start: int, stop: int) -> pa.Array:
        """The results of these groups; a group without rows has that of no rows."""
        found = self._column(start, stop)
        if self._aggregate.of_nothing is None or found.null_count == 0:
            return found
        nothing = pa.scalar(self._aggregate.of_nothing).cast(found.type)
        return pc.if_else(self._are_there(start, stop), found, nothing)

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """The states of these groups as bytes, in pieces; NULL of a group without rows."""
        for first in range(start, stop, _PIECE):
            last = min(first + _PIECE, stop)
            rows = encode([self._column(first, last)])
            are_there = self._are_there(first, last)
            yield rows if are_there.true_count == len(rows) else pc.if_else(are_there, rows, None)

    def _add(self, groups: Numbers, column: pa.Array) -> None:
        if len(groups):
            try:
                self._groups.add(groups, column.cast(self.call.arrow_type))
            except (BadRecord, Overflow) as error:
                raise self._failed(error) from error

    def _column(self, start: int, stop: int) -> pa.Array:
        """The values of these groups, NULL behind the last."""
        try:
            found = self._groups.column(start, stop).cast(self.call.arrow_type)
        except (BadRecord, Overflow) as error:
            raise self._failed(error) from error
        missing = stop - start - len(found)
        return pa.concat_arrays([found, pa.nulls(missing, found.type)]) if missing else found

    def _are_there(self, start: int, stop: int) -> pa.BooleanArray:
        found = np.zeros(stop - start, dtype=bool)
        known = self._groups.are_there(start, stop)
        found[: len(known)] = known
        return pa.array(found)

    def _failed(self, error: BadRecord | Overflow) -> GroupError:
        if isinstance(error, BadRecord):
            return self._bad(error.group, str(error))
        target, name = wider_type(self.call.type), self.call.name
        is_taken = target and self._aggregate.accepts.test(to_arrow(from_sql(target)))
        advice = (
            f"cast its argument: {CATALOG}.{name}(CAST(… AS {target}))"
            if is_taken
            else "there is no wider type that it takes"
        )
        words = (
            f"{self.call.words}, group {error.group}: the {name} ({error}) does not fit "
            f"{logical.describe(self.call.type)}; {advice}"
        )
        return GroupError(error.group, FoldOverflowError(words))

    def _bad(self, group: int, words: str) -> GroupError:
        return GroupError(group, TableError(f"{self.call.words}, group {group}: {words}"))
