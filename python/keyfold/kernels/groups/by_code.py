"""Rows in any order, grouped by the codes of their values (`codes`)."""

from dataclasses import dataclass

import numpy as np

from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.groups.by_group import place_rows
from keyfold.lazy import cached_property


@dataclass(frozen=True)
class RowCodes:
    """The code of each row, below `count`. Rows of one code are a group; some codes have no row."""

    numbers: Numbers
    count: int

    @cached_property
    def there(self) -> Rows:
        """The codes that have rows: the groups, in this order."""
        return np.flatnonzero(np.bincount(self.numbers, minlength=self.count))

    @property
    def first(self) -> Rows:
        """The first row of each group."""
        found = np.empty(self.count, dtype=np.int64)
        found[self.numbers[::-1]] = np.arange(len(self.numbers) - 1, -1, -1)  # the last one stays
        return found[self.there]

    @cached_property
    def sorted(self) -> tuple[Rows, Rows]:
        """The order of the rows by group, in which they keep theirs, and the groups' offsets."""
        sizes = np.bincount(self.numbers, minlength=self.count).astype(np.int64, copy=False)
        stops = np.cumsum(sizes)
        order = np.empty(len(self.numbers), dtype=np.int64)
        place_rows(self.numbers, 0, stops - sizes, order)
        return order, np.append(np.zeros(1, dtype=np.int64), stops[self.there])
