"""A user's fold in a query: each row is added at once to what its group holds."""

from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import BadRecord
from keyfold.aggregates.group_totals import GroupValues, Growing, Overflow
from keyfold.kernels.folds.running import Numbers
from keyfold.user_functions import failing, loop, shapes
from keyfold.user_functions.compiled import compiled
from keyfold.user_functions.shapes import Shape
from keyfold.user_functions.user_function import UserFunction, plain


def running(own: UserFunction, form: Shape, kind: pa.DataType) -> GroupValues | None:
    """The groups of a fold; None if it sees NULL, for which an array has no place."""
    return None if own.sees_nulls else _Folded(own, form, kind)


class _Folded(Growing):
    """The results of the compiled function for the rows of each group."""

    def __init__(self, own: UserFunction, form: Shape, kind: pa.DataType) -> None:
        super().__init__(*(array.dtype for array in shapes.results(form, 0)))
        self._own, self._form, self._kind = own, form, kind
        self._loop = compiled(loop.running(form, own.function), str(own))

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """See `GroupValues.add`."""
        self.reach(groups)
        *slots, valid = shapes.inputs(self._form, column)
        at = np.zeros(1, dtype=np.int64)
        try:
            self._loop(*slots, valid, groups, *self.arrays, at)
        except Exception as error:
            row = int(at[0])
            raise BadRecord(
                int(groups[row]), self._words(groups[row], column[row], error)
            ) from error

    def _words(self, group: Any, value: pa.Scalar, error: Exception) -> str:
        """The place and the values at which the function raised, by calling it in plain Python."""
        held = [array[group].item() for array in self.arrays[:-1]]
        best = shapes.row_class(self._form)(*held) if self._form.is_tuple else held[0]
        now = shapes.seen(self._form, value.as_py())

        def again() -> None:
            with failing.at(self._own, best, now):
                plain(self._own.function)(best, now)

        return failing.words(self._own, again, error)

    def column(self, start: int, stop: int) -> pa.Array:
        """See `GroupValues.column`."""
        *outs, valid = self.part(start, stop)
        found = shapes.column_of(self._form, self._kind, outs, valid)
        if found.overflowed >= 0:
            raise Overflow(start + found.overflowed, str(outs[0][found.overflowed]))
        return found.array
