"""Sorted runs merged two at a time: the pairs, their order, and the arrays that hold the rows.

The two neighbours that are smallest together are merged first, so that a large run is moved once,
however many small ones are beside it. Only neighbours are merged: equal keys keep the runs' order.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

Step = tuple[int, int, int]
Arrays = tuple[Any, ...]


def merge_steps(lengths: Sequence[int]) -> list[Step]:
    """The start, middle and stop of each merge of two neighbours, in the order of the merges."""
    bounds = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).tolist()
    steps = []
    while len(bounds) > 2:
        sizes = [stop - start for start, stop in zip(bounds, bounds[2:], strict=False)]
        at = sizes.index(min(sizes))
        steps.append((bounds[at], bounds[at + 1], bounds[at + 2]))
        del bounds[at + 1]
    return steps


class PairwiseMerge:
    """Rows that move between two sets of arrays; each run is in one of them."""

    def __init__(self, lengths: Sequence[int], given: Arrays, spare: Arrays) -> None:
        self._arrays = (given, spare)
        starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).tolist()
        self._place = dict.fromkeys(starts, 0)

    def step(self, start: int, middle: int, stop: int) -> tuple[Arrays, Arrays]:
        """The arrays that hold both neighbours, and the arrays to merge them into."""
        place = self._place[start]
        if self._place[middle] != place:
            is_left_shorter = middle - start < stop - middle
            first, last = (start, middle) if is_left_shorter else (middle, stop)
            if is_left_shorter:
                place = 1 - place
            for source, target in zip(self._arrays[1 - place], self._arrays[place], strict=True):
                target[first:last] = source[first:last]
        self._place[start] = 1 - place
        return self._arrays[place], self._arrays[1 - place]

    @property
    def result(self) -> Arrays:
        """The arrays that hold all rows after the last step."""
        return self._arrays[self._place[0]]
