"""Rows with only those columns decoded that decide which rows win.

They take the place of a record batch until the winners are known: they are cut, filtered and put in
order by their keys. Row groups without a winner are never decoded any further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa


class _Rest:
    """The columns that are decoded later. They are kept for all who share them."""

    def __init__(self, decode: Callable[[], pa.RecordBatch]) -> None:
        self._decode = decode
        self._made: pa.RecordBatch | None = None

    def __call__(self) -> pa.RecordBatch:
        if self._made is None:
            self._made = self._decode()
        return self._made

    def taken(self, places: pa.Array) -> _Rest:
        """The rows at these places. The others are not kept once these are decoded."""
        return _Rest(lambda: self._decode().take(places))


class Deferred:
    """Some rows of a batch. `decided` holds the columns that are decoded, for these rows. `rest`
    decodes the other columns of the whole batch. There these rows are those from `start` on.
    `row_bytes` is about the size of a decoded row of the rest.
    """

    def __init__(
        self,
        decided: pa.RecordBatch,
        rest: Callable[[], pa.RecordBatch],
        row_bytes: float,
        start: int = 0,
    ) -> None:
        self._decided = decided
        self._rest = rest if isinstance(rest, _Rest) else _Rest(rest)
        self._row_bytes = row_bytes
        self._start = start

    @property
    def num_rows(self) -> int:
        """The number of these rows."""
        return int(self._decided.num_rows)

    @property
    def nbytes(self) -> int:
        """About the number of bytes they take once all columns are decoded."""
        return int(self._decided.nbytes + self._row_bytes * self.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """The fields that are decoded, every system column among them."""
        return self._decided.schema

    def column(self, which: str | int) -> pa.Array:
        """A column by name, or a decoded one by its place in `schema`."""
        if isinstance(which, int) or self.schema.get_field_index(which) >= 0:
            return self._decided.column(which)
        return self._rest().column(which).slice(self._start, self.num_rows)

    def slice(self, start: int = 0, length: int | None = None) -> Deferred:
        """The rows from `start` on, at most `length`."""
        decided = self._decided.slice(start, length)
        return Deferred(decided, self._rest, self._row_bytes, self._start + start)

    def filter(self, passes: pa.Array) -> Deferred:
        """The rows for which `passes` is true."""
        places = np.flatnonzero(passes.to_numpy(zero_copy_only=False)) + self._start
        decided = self._decided.filter(passes)
        return Deferred(decided, self._rest.taken(pa.array(places)), self._row_bytes)

    def with_column(self, field: pa.Field, values: pa.Array) -> Deferred:
        """Rows with one more column that is decoded."""
        decided = self._decided.append_column(field, values)
        return Deferred(decided, self._rest, self._row_bytes, self._start)

    def select(self, names: Sequence[str]) -> pa.RecordBatch:
        """Columns by name, decoded."""
        fields = [self._holder(name).schema.field(name) for name in names]
        arrays = [self.column(name) for name in names]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _holder(self, name: str) -> pa.RecordBatch:
        return self._decided if self.schema.get_field_index(name) >= 0 else self._rest()
