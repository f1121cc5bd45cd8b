"""Cutting sorted runs by key: each round takes, from every run, the rows up to a key that no later
batch can hold.

A window holds the batches of one run that are read and not yet merged. All windows share the rows
and bytes of one round, each by the part that its run had in earlier rounds. So the windows of a
large run and of many small ones end at about the same key, and few rounds are needed.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa

from keyfold.kernels.keys.comparable import encode, rows_up_to
from keyfold.merge.deferred import Deferred
from keyfold.merge.sorted_run import SortedRun

Batch: TypeAlias = pa.RecordBatch | Deferred
ROUND_ROWS = 1 << 18
_LEAST_PART = 8  # of an even share


class Window:
    """The read and unmerged head of one run."""

    def __init__(
        self, batches: Iterator[Batch], key: Sequence[str], nullable: Sequence[bool]
    ) -> None:
        self._batches = batches
        self._key = key
        self._nullable = nullable
        self._pieces: deque[Batch] = deque()
        self._first: int | bytes | None = None
        self._rows = 0
        self._row_bytes = 0.0
        self._wanted = 1
        self._is_drained = False

    def fill(self, rows: float, size: float) -> None:
        """Read batches until the window holds `rows`, or `size` bytes, or the run has no more."""
        while not self._is_drained and self._rows < self._most(rows, size):
            batch = next(self._batches, None)
            if batch is None:
                self._is_drained = True
            elif batch.num_rows:
                self._add(batch)
        self._wanted = self._most(rows, size)

    def _most(self, rows: float, size: float) -> int:
        return max(1, int(min(rows, size / self._row_bytes) if self._row_bytes else rows))

    def _add(self, batch: Batch) -> None:
        mean = batch.nbytes / batch.num_rows
        rows = self._rows + batch.num_rows
        self._row_bytes += (mean - self._row_bytes) * batch.num_rows / rows
        self._pieces.append(batch)
        self._rows = rows

    @property
    def is_empty(self) -> bool:
        """Whether the run is merged to its end."""
        return not self._pieces

    @property
    def bound(self) -> int | bytes | None:
        """The last key that this window allows to merge; None if the run ends inside it."""
        if self.is_empty or (self._is_drained and self._rows <= self._wanted):
            return None
        last = min(self._wanted, self._rows) - 1
        for batch in self._pieces:
            if last < batch.num_rows:
                break
            last -= batch.num_rows
        return self._key_of(batch, last)

    def cut(self, bound: int | bytes | None) -> list[Batch]:
        """Take off the rows with keys up to `bound`, all rows if it is None."""
        taken: list[Batch] = []
        while self._pieces and not self._is_above(bound):
            batch = self._pieces[0]
            count = batch.num_rows if bound is None else self._rows_up_to(batch, bound)
            self._first = None
            self._rows -= count
            if count < batch.num_rows:
                self._pieces[0] = batch.slice(count)
                taken.append(batch.slice(0, count))
                break
            taken.append(self._pieces.popleft())
        return taken

    def part(self, rows: int, size: int) -> float:
        """The part that the window would give of a round of `rows` and `size` bytes."""
        return min(self._wanted, self._rows) * max(1 / rows, self._row_bytes / size)

    def reaches(self, bound: int | bytes | None) -> bool:
        """Whether the window holds rows with keys up to `bound`."""
        return bool(self._pieces) and not self._is_above(bound)

    def _is_above(self, bound: int | bytes | None) -> bool:
        """Whether the first row's key is greater than `bound`."""
        if bound is None:
            return False
        if self._first is None:
            self._first = self._key_of(self._pieces[0], 0)
        return self._first > bound  # type: ignore[operator]

    def _rows_up_to(self, batch: Batch, bound: int | bytes) -> int:
        return rows_up_to([batch.column(name) for name in self._key], bound, self._nullable)

    def _key_of(self, batch: Batch, row: int) -> int | bytes:
        columns = [batch.column(name).slice(row, 1) for name in self._key]
        return encode(columns, self._nullable).scalar(0)


def rounds(
    runs: Sequence[SortedRun],
    key: Sequence[str],
    nullable: Sequence[bool],
    most_bytes: int,
    most_rows: int | None = None,
) -> Iterator[list[list[Batch]]]:
    """For each round the parts of every run (in the runs' order, maybe empty), ascending by key. A
    round has about `most_rows` (ROUND_ROWS if None) or `most_bytes`, whichever is less.
    """
    if not runs:
        return
    rows = ROUND_ROWS if most_rows is None else most_rows
    windows = [Window(run.batches, key, nullable) for run in runs]
    shares = _evened([float(run.rows) for run in runs])
    while True:
        for window, share in zip(windows, shares, strict=True):
            window.fill(rows * share, most_bytes * share)
        if all(window.is_empty for window in windows):
            return
        bound = _bound(windows, shares, rows, most_bytes)
        pieces = [window.cut(bound) for window in windows]
        yield pieces
        taken = _evened([float(sum(part.num_rows for part in parts)) for parts in pieces])
        del pieces
        shares = [(old + new) / 2 for old, new in zip(shares, taken, strict=True)]


def _bound(
    windows: Sequence[Window], shares: Sequence[float], rows: int, most_bytes: int
) -> int | bytes | None:
    """The key up to which a round goes, None if it takes all rows. Runs whose keys begin above the
    key give nothing. While the others would give less than half a round, the window that ends first
    is read on.
    """
    shares = list(shares)
    while True:
        bounds = [window.bound for window in windows]
        known = [place for place, bound in enumerate(bounds) if bound is not None]
        if not known:
            return None
        first = min(known, key=bounds.__getitem__)  # type: ignore[arg-type]
        bound = bounds[first]
        if 2 * sum(w.part(rows, most_bytes) for w in windows if w.reaches(bound)) > 1:
            return bound
        shares[first] *= 2
        windows[first].fill(rows * shares[first], most_bytes * shares[first])


def _evened(weights: Sequence[float]) -> list[float]:
    """Shares by weight that add up to 1, each at least about an eighth of an even share."""
    total, least = sum(weights), 1 / (_LEAST_PART * len(weights))
    if not total:
        return [1 / len(weights)] * len(weights)
    raised = [max(weight / total, least) for weight in weights]
    return [share / sum(raised) for share in raised]
