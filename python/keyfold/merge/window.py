"""Cutting sorted runs by key: each round takes, from every run, the rows up to a key no later
batch can hold.

A window holds the batches of one run that are read and not yet merged: about as many rows, and
bytes, as every other run's, so that memory does not grow with the runs' length.
"""

from collections import deque
from collections.abc import Iterator, Sequence

import pyarrow as pa

from keyfold.kernels.keys import encode, rows_up_to

ROUND_ROWS = 1 << 18
ROUND_BYTES = 1 << 28
LEAST_ROWS = 1 << 12


class Window:
    """The read and unmerged head of one run."""

    def __init__(
        self,
        batches: Iterator[pa.RecordBatch],
        key: Sequence[str],
        runs: int,
        nullable: Sequence[bool] = (),
    ) -> None:
        self._batches = batches
        self._key = key
        self._nullable = nullable
        self._want_rows = max(LEAST_ROWS, ROUND_ROWS // runs)
        self._want_bytes = ROUND_BYTES // runs
        self._pieces: deque[pa.RecordBatch] = deque()
        self._rows = 0
        self._bytes = 0.0
        self._is_drained = False
        self.fill()

    def fill(self) -> None:
        """Read batches until the window is full or the run has no more."""
        while (
            not self._is_drained and self._rows < self._want_rows and self._bytes < self._want_bytes
        ):
            batch = next(self._batches, None)
            if batch is None:
                self._is_drained = True
            elif batch.num_rows:
                self._add(batch)

    def _add(self, batch: pa.RecordBatch) -> None:
        size = batch.nbytes
        most = max(1, min(self._want_rows, int(self._want_bytes * batch.num_rows / max(size, 1))))
        for start in range(0, batch.num_rows, most):
            self._pieces.append(batch.slice(start, most))
        self._rows += batch.num_rows
        self._bytes += size

    @property
    def is_empty(self) -> bool:
        """Whether the run is merged to its end."""
        return not self._pieces

    @property
    def bound(self) -> int | bytes | None:
        """The last key that can be merged knowing this window; None if the run ends inside it."""
        if self._is_drained and len(self._pieces) <= 1:
            return None
        rows = 0
        for batch in self._pieces:
            rows += batch.num_rows
            if rows >= self._want_rows:
                break
        return self._last_key(batch)

    def cut(self, bound: int | bytes | None) -> list[pa.RecordBatch]:
        """Take off the rows with keys up to `bound`, all for None."""
        taken: list[pa.RecordBatch] = []
        while self._pieces:
            batch = self._pieces[0]
            count = batch.num_rows if bound is None else self._rows_up_to(batch, bound)
            if count < batch.num_rows:
                self._pieces[0] = batch.slice(count)
                if count:
                    taken.append(batch.slice(0, count))
                break
            taken.append(self._pieces.popleft())
        rows = sum(batch.num_rows for batch in taken)
        self._bytes -= self._bytes * rows / max(self._rows, 1)
        self._rows -= rows
        return taken

    def _key_columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        return [batch.column(name) for name in self._key]

    def _rows_up_to(self, batch: pa.RecordBatch, bound: int | bytes) -> int:
        return rows_up_to(self._key_columns(batch), bound, self._nullable)

    def _last_key(self, batch: pa.RecordBatch) -> int | bytes:
        last = self._key_columns(batch.slice(batch.num_rows - 1))
        return encode(last, self._nullable).scalar(0)


def rounds(windows: Sequence[Window]) -> Iterator[list[list[pa.RecordBatch]]]:
    """For each round the pieces of every run (in the runs' order, maybe none), ascending by key."""
    while any(not window.is_empty for window in windows):
        bounds = [window.bound for window in windows if not window.is_empty]
        known = [bound for bound in bounds if bound is not None]
        yield [window.cut(min(known, default=None)) for window in windows]
        for window in windows:
            window.fill()
