"""Groups whose rows wait, and fold in rounds into states, one column of them.

A round takes the states and the rows that wait as one list of records per group, states first, as a
compaction takes stored values and new ones. Rows wait until the work on the states of all groups is
a small part of a round.
"""

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import Aggregate, BadRecord, Inputs
from keyfold.aggregates.group_totals import Flags, Overflow
from keyfold.aggregates.results import column_result
from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.groups.by_group import grouped
from keyfold.kernels.ops import ADD
from keyfold.merge.column_results import combine
from keyfold.resources.metering import metered
from keyfold.types import java_text

LEAST_ROWS = 1 << 18
_SHOWN = 3


class Rounds:
    """See `aggregates.group_totals.GroupValues`. At most some `most_waiting` bytes of rows wait."""

    def __init__(self, aggregate: Aggregate, kind: pa.DataType, most_waiting: int) -> None:
        self._aggregate, self._most_waiting = aggregate, most_waiting
        self._states = pa.nulls(0, kind)
        self._is_there: Mask = np.zeros(0, dtype=np.uint8)
        self._waiting: list[tuple[Numbers, pa.Array]] = []
        self._rows = self._bytes = 0

    @property
    def held(self) -> int:
        """See `GroupValues.held`: a round holds states, their copy with rows, and new states."""
        return 3 * int(self._states.nbytes) + 2 * self._bytes

    def make_room(self, count: int) -> None:
        """See `GroupValues.make_room`: states have no room before they are there."""

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Let rows wait, and fold if enough of them do."""
        self._waiting.append((groups, column))
        self._rows += len(groups)
        self._bytes += int(column.nbytes) + int(groups.nbytes)
        has_enough = self._rows >= max(LEAST_ROWS, 2 * len(self._is_there))
        if self._bytes >= self._most_waiting or (has_enough and self._bytes >= self._states.nbytes):
            self._fold()

    def column(self, start: int, stop: int) -> pa.Array:
        """The states of these groups, after all rows folded."""
        self._fold()
        return self._states.slice(start, stop - start)

    def are_there(self, start: int, stop: int) -> Flags:
        """Whether these groups had rows, with values or NULL."""
        self._fold()
        found: Flags = self._is_there[start:stop].view(bool)
        return found

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
            found = self._folded(Inputs(column, ops, order, starts), touched)
            self._states = found if len(touched) == count else _replaced(states, touched, found)
            is_there[touched] = 1
            self._is_there = is_there
            self._waiting, self._rows, self._bytes = [], 0, 0

    def _with_nulls(self, count: int) -> pa.Array:
        missing = count - len(self._states)
        if not missing:
            return self._states
        return combine([self._states, pa.nulls(missing, self._states.type)])

    def _folded(self, inputs: Inputs, touched: Rows) -> pa.Array:
        try:
            result = column_result(self._aggregate, inputs)
        except BadRecord as error:
            raise BadRecord(int(touched[error.group]), str(error)) from error
        if result.overflowed >= 0:
            raise Overflow(int(touched[result.overflowed]), _values(inputs, result.overflowed))
        return result.array


def _values(inputs: Inputs, group: int) -> str:
    """The first values of a group, in words."""
    rows = inputs.order[inputs.starts[group] : inputs.starts[group + 1]]
    some = ", ".join(java_text.shown(inputs.column[int(row)]) for row in rows[:_SHOWN])
    return f"{some} and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else some


def _replaced(states: pa.Array, touched: Rows, found: pa.Array) -> pa.Array:
    """The states, those of the touched groups replaced by what was found."""
    places = np.arange(len(states))
    places[touched] = len(states) + np.arange(len(touched))
    return take(combine([states.cast(found.type), found]), indices(places))
