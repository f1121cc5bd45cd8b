"""Bytes of sketches and states, checked by kernels: columns as they are written, and single states
before a library opens them. Libraries trust the counts in such bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import BadRecord
from keyfold.kernels.buffers import Mask, Rows, ones, text, validity, view
from keyfold.kernels.roaring.containers import problem

_LEAST_PLAN = -1  # numbers below are problems


@dataclass(frozen=True)
class Checked:
    """The check of one form of bytes. `plans` of data, bounds and validity are kernels' numbers for
    each row, and `problems` the words for those that are problems. `united` are those of single
    states, if what unions make may be more than what is written.
    """

    words: str
    plans: Callable[[Mask, Rows, Mask], Rows]
    problems: Sequence[str]
    united: Callable[[Mask, Rows, Mask], Rows] | None = None

    def column(self, column: pa.Array) -> None:
        """Raises BadRecord if a value is not of this form."""
        bounds, data = text(column)
        plans = self.plans(data, bounds, validity(column))
        wrong = np.flatnonzero(plans < _LEAST_PLAN)
        if len(wrong):
            row = int(wrong[0])
            raise BadRecord(row, self._message(int(plans[row]), int(np.diff(bounds)[row])))

    def state(self, state: bytes) -> bytes:
        """The bytes as they are. Raises ValueError if they are not of this form."""
        size = len(state)
        data = view(pa.py_buffer(state), np.uint8, 0, size)
        plan = int((self.united or self.plans)(data, np.array([0, size]), ones(1))[0])
        if plan < _LEAST_PLAN:
            raise ValueError(self._message(plan, size))
        return state

    def _message(self, plan: int, size: int) -> str:
        found = problem(plan, self.problems)
        return f"Unable to deserialize {self.words}: of {size} bytes, {found}"
