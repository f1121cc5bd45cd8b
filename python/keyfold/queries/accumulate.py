"""The groups of one call in a task: states in one column, and rows that wait to be folded into it.

A fold takes the states and the rows that wait as one list of records a group, states first, as a
compaction takes stored values and new ones. It waits for so many rows that the work on the states
of all groups is a small part of it.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declare import BadRecord, Inputs
from keyfold.errors import CorruptDataError, FoldOverflowError, KeyfoldError, TableError
from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.by_group import Numbers, grouped
from keyfold.kernels.ops import ADD
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.merge.columns import combine, indices, take
from keyfold.merge.functions import wider_type
from keyfold.merge.results import column_result
from keyfold.queries.bound import CATALOG, BoundCall
from keyfold.resources.metering import metered
from keyfold.types import java_text, logical

LEAST_ROWS = 1 << 18
_PIECE = 1 << 13  # groups that are encoded at once
_SHOWN = 3


class GroupError(Exception):
    """The values of a group can't be folded, for the reason `error`."""

    def __init__(self, group: int, error: KeyfoldError) -> None:
        super().__init__(str(error))
        self.group, self.error = group, error


class Accumulated:
    """The states of all groups of one call, and the rows behind them."""

    def __init__(self, call: BoundCall, most_waiting: int) -> None:
        self.call = call
        self._aggregate = call.aggregate
        self._most_waiting = most_waiting
        self.clear()

    def clear(self) -> None:
        """Forget all groups."""
        self._states = pa.nulls(0, self.call.arrow_type)
        self._is_there: Mask = np.zeros(0, dtype=np.uint8)
        self._waiting: list[tuple[Numbers, pa.Array]] = []
        self._rows = self._bytes = 0

    @property
    def held(self) -> int:
        """The bytes of states and waiting rows."""
        return int(self._states.nbytes) + len(self._is_there) + self._bytes

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add a value to each of these groups, one after another."""
        if self._aggregate.normalize is not None:
            try:
                column = self._aggregate.normalize(column)
            except BadRecord as error:
                raise self._bad(int(groups[error.group]), error) from error
        self._wait(groups, column)

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """Add the states of other tasks, later ones in the order of rows, to these groups. A NULL
        is the state of no rows.
        """
        is_state = states.is_valid()
        if states.null_count:
            groups = np.ascontiguousarray(groups[is_state.to_numpy(zero_copy_only=False)])
            states = states.drop_null()
        try:
            (column,) = decode(states, [self.call.arrow_type])
        except CorruptDataError as error:
            raise CorruptDataError(f"{self.call.words}, a state: {error}") from error
        self._wait(groups, column)

    def values(self, start: int, stop: int) -> pa.Array:
        """The results of these groups; a group without rows has that of no rows."""
        self._fold()
        found = self._slice(self._states, start, stop)
        if self._aggregate.of_nothing is None or found.null_count == 0:
            return found
        nothing = pa.scalar(self._aggregate.of_nothing).cast(found.type)
        return pc.if_else(self._were_there(start, stop), found, nothing)

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """The states of these groups as bytes, in pieces; NULL of a group without rows."""
        self._fold()
        for first in range(start, stop, _PIECE):
            last = min(first + _PIECE, stop)
            rows = encode([self._slice(self._states, first, last)])
            are_there = self._were_there(first, last)
            yield rows if are_there.true_count == len(rows) else pc.if_else(are_there, rows, None)

    def _slice(self, column: pa.Array, start: int, stop: int) -> pa.Array:
        """Rows of a column, in the type of results, NULL behind its end."""
        found = column.slice(start, stop - start).cast(self.call.arrow_type)
        if len(found) == stop - start:
            return found
        return pa.concat_arrays([found, pa.nulls(stop - start - len(found), found.type)])

    def _were_there(self, start: int, stop: int) -> pa.BooleanArray:
        found = np.zeros(stop - start, dtype=bool)
        known = self._is_there[start:stop]
        found[: len(known)] = known
        return pa.array(found)

    def _wait(self, groups: Numbers, column: pa.Array) -> None:
        if not len(groups):
            return
        column = column.cast(self.call.arrow_type)
        self._waiting.append((groups, column))
        self._rows += len(groups)
        self._bytes += int(column.nbytes) + int(groups.nbytes)
        has_enough = self._rows >= max(LEAST_ROWS, 2 * len(self._is_there))
        if self._bytes >= self._most_waiting or (has_enough and self._bytes >= self._states.nbytes):
            self._fold()

    def _fold(self) -> None:
        """Fold the waiting rows into the states."""
        if not self._waiting:
            return
        with metered("merge"):
            groups = np.concatenate([numbers for numbers, _ in self._waiting])
            count = max(len(self._is_there), int(groups.max()) + 1)
            is_there = np.zeros(count, dtype=np.uint8)
            is_there[: len(self._is_there)] = self._is_there
            states = self._with_nulls(count)
            touched, order, starts = grouped(groups, is_there, count)
            column = combine([states, *(part.cast(states.type) for _, part in self._waiting)])
            ops = np.full(len(order), ADD, dtype=np.int8)
            inputs = Inputs(column, ops, order, starts)
            found = self._folded(inputs, touched)
            self._states = found if len(touched) == count else _replaced(states, touched, found)
            is_there[touched] = 1
            self._is_there = is_there
            self._waiting, self._rows, self._bytes = [], 0, 0

    def _with_nulls(self, count: int) -> pa.Array:
        missing = count - len(self._states)
        return combine([self._states, pa.nulls(missing, self._states.type)][: 1 + bool(missing)])

    def _folded(self, inputs: Inputs, touched: Rows) -> pa.Array:
        try:
            result = column_result(self._aggregate, inputs)
        except BadRecord as error:
            raise self._bad(int(touched[error.group]), error) from error
        if result.overflowed >= 0:
            group = int(touched[result.overflowed])
            raise GroupError(group, self._overflow(group, inputs, result.overflowed))
        return result.array

    def _bad(self, group: int, error: BadRecord) -> GroupError:
        return GroupError(group, TableError(f"{self.call.words}, group {group}: {error}"))

    def _overflow(self, group: int, inputs: Inputs, place: int) -> KeyfoldError:
        kind, target = logical.describe(self.call.type), wider_type(self.call.type)
        rows = inputs.order[inputs.starts[place] : inputs.starts[place + 1]]
        some = ", ".join(java_text.shown(inputs.column[int(row)]) for row in rows[:_SHOWN])
        more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
        advice = (
            "there is no wider type"
            if target is None
            else f"cast its argument: {CATALOG}.{self.call.name}(CAST(… AS {target}))"
        )
        return FoldOverflowError(
            f"{self.call.words}, group {group}: the {self.call.name} of {some}{more} does not fit "
            f"{kind}; {advice}"
        )


def _replaced(states: pa.Array, touched: Rows, found: pa.Array) -> pa.Array:
    """The states, those of the touched groups replaced by what was found."""
    places = np.arange(len(states))
    places[touched] = len(states) + np.arange(len(touched))
    return take(combine([states.cast(found.type), found]), indices(places))
