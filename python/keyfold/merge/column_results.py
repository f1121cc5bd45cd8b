"""Column results: each output column is taken once, from the rows that won."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.merge.deferred import Deferred
from keyfold.types.required import fitted

_WIDE = {pa.utf8(): pa.large_utf8(), pa.binary(): pa.large_binary()}
MOST_BYTES = 1 << 30
_FEW = 4  # a picked row of as many is one of few
BATCH_BYTES = 1 << 26


def keep(column: pa.Array, flags: npt.NDArray[np.bool_]) -> pa.Array:
    """The flagged rows of a column."""
    return column.filter(pa.array(flags))


def combine(parts: list[pa.Array]) -> pa.Array:
    """One array of all rows; text that is too long for 32-bit offsets gets 64-bit ones."""
    if len(parts) == 1:
        return parts[0]
    wide = _WIDE.get(parts[0].type)
    if wide is not None and sum(part.nbytes for part in parts) > MOST_BYTES:
        parts = [part.cast(wide) for part in parts]
    return pa.concat_arrays(parts)


class Columns(Mapping[str, pa.Array]):
    """The columns of some batches whose rows follow one another. One array of a column is made only
    if all of it is looked at. A batch without a picked row is not looked at.
    """

    def __init__(self, batches: Sequence[pa.RecordBatch | Deferred], names: Iterable[str]) -> None:
        self._batches = batches
        self._names = tuple(names)
        self._whole: dict[str, pa.Array] = {}
        lengths = np.array([batch.num_rows for batch in batches], dtype=np.int64)
        self._starts = np.cumsum(lengths) - lengths
        self._lengths = lengths

    @property
    def num_rows(self) -> int:
        """The number of rows of all batches."""
        return int(self._lengths.sum())

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._whole:
            if name not in self._names:
                raise KeyError(name)
            self._whole[name] = combine([batch.column(name) for batch in self._batches])
        return self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def parts(self, name: str) -> list[pa.Array]:
        """A column as it is: the arrays of the batches, or one of all rows if that is made."""
        if name in self._whole:
            return [self._whole[name]]
        return [batch.column(name) for batch in self._batches]

    def taken(self, names: Sequence[str], picks: Rows) -> list[pa.Array]:
        """The picked rows of columns; -1 gives null."""
        if _is_span(picks):
            return [self._span(name, int(picks[0]), int(picks[-1]) + 1) for name in names]
        if 0 < len(picks) * _FEW < self._lengths.sum() and (picks >= 0).all():
            return self._few(names, picks)
        picked = indices(picks)
        needed, moved = list(self._batches), picked
        if any(name not in self._whole for name in names) and len(needed) > 1:
            is_needed = self._needed(picks)
            if not is_needed.all():
                needed = [b for b, flag in zip(self._batches, is_needed, strict=True) if flag]
                moved = indices(self._moved(picks, is_needed))
        return [
            take(self._whole[name], picked)
            if name in self._whole
            else take(combine([batch.column(name) for batch in needed]), moved)
            for name in names
        ]

    def _few(self, names: Sequence[str], picks: Rows) -> list[pa.Array]:
        """The picked rows, at least one, taken batch by batch: no whole column is made for them."""
        places = np.searchsorted(self._starts, picks, side="right") - 1
        order = np.argsort(places, kind="stable")
        back = indices(np.argsort(order))
        used, firsts = np.unique(places[order], return_index=True)
        parts = [
            (self._batches[place], indices(rows - self._starts[place]))
            for place, rows in zip(used, np.split(picks[order], firsts[1:]), strict=True)
        ]
        found = ([take(batch.column(name), rows) for batch, rows in parts] for name in names)
        return [take(combine(column), back) for column in found]

    def _span(self, name: str, start: int, stop: int) -> pa.Array:
        """The rows of a column from start to stop, at least one. They are copied if they are of
        several batches.
        """
        parts = []
        for batch, first in zip(self._batches, self._starts.tolist(), strict=True):
            begin, end = max(start - first, 0), min(stop - first, batch.num_rows)
            if begin < end:
                parts.append(batch.column(name).slice(begin, end - begin))
        return combine(parts)

    def _needed(self, picks: Rows) -> npt.NDArray[np.bool_]:
        """For each batch, whether one of its rows is picked."""
        is_picked = np.zeros(int(self._lengths.sum()) + 1, dtype=np.bool_)
        is_picked[picks] = True
        bounds = [*self._starts.tolist(), len(is_picked) - 1]
        is_needed = np.array([is_picked[start:stop].any() for start, stop in pairwise(bounds)])
        is_needed[0] |= not is_needed.any()
        return is_needed

    def _moved(self, picks: Rows, is_needed: npt.NDArray[np.bool_]) -> Rows:
        """The picks as rows of the needed batches alone."""
        left_out = np.where(is_needed, 0, self._lengths)
        before = np.repeat(np.cumsum(left_out), self._lengths)
        moved: Rows = np.where(picks < 0, -1, picks - before[picks])
        return moved


def _is_span(picks: Rows) -> bool:
    """Whether these are all rows from one to another, as when rows arrive sorted by key."""
    if not len(picks) or picks[0] < 0 or picks[-1] - picks[0] != len(picks) - 1:
        return False
    return bool((np.diff(picks) == 1).all())


def sliced(arrays: list[pa.Array], schema: pa.Schema, most_rows: int) -> list[pa.RecordBatch]:
    """Batches of the schema, bounded in rows and, on average, in bytes. The text of `arrays` may
    have 64-bit offsets.
    """
    rows, size = len(arrays[0]), sum(array.nbytes for array in arrays)
    step = max(1, min(most_rows, rows * BATCH_BYTES // max(size, 1)))
    return [
        pa.RecordBatch.from_arrays(
            [
                fitted(array.slice(start, step), field.type)
                for array, field in zip(arrays, schema, strict=True)
            ],
            schema=schema,
        )
        for start in range(0, rows, step)
    ]
