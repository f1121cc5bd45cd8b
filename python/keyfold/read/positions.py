"""Rows of a data file by their position in it, whichever row groups are read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.keys.membership import Flags
from keyfold.merge.deferred import Deferred

POSITION = "_POSITION"
_FIELD = pa.field(POSITION, pa.int64(), nullable=False)


def without(
    positions: Rows,
    batches: Iterable[pa.RecordBatch | Deferred],
    counts: Sequence[int],
    groups: Sequence[int],
) -> Iterator[pa.RecordBatch | Deferred]:
    """The batches of all rows of some row groups, one after another, less the rows at these
    positions, which ascend. `counts` has the rows of each row group of the file.
    """
    flags, start = _others(positions, counts, groups), 0
    for batch in batches:
        some = flags[start : start + batch.num_rows]
        start += batch.num_rows
        yield batch if some.all() else batch.filter(pa.array(some))


def numbered(
    batches: Iterable[pa.RecordBatch | Deferred], counts: Sequence[int], groups: Sequence[int]
) -> Iterator[pa.RecordBatch | Deferred]:
    """The batches of all rows of some row groups, one after another, each with the positions of its
    rows. `counts` has the rows of each row group of the file.
    """
    firsts = np.array([0, *itertools.accumulate(counts)], dtype=np.int64)[list(groups)]
    ends = np.cumsum([counts[group] for group in groups], dtype=np.int64)
    ahead, start = firsts - np.concatenate([[0], ends[:-1]]), 0
    for batch in batches:
        rows = np.arange(start, start + batch.num_rows, dtype=np.int64)
        start += batch.num_rows
        found = pa.array(rows + ahead[np.searchsorted(ends, rows, side="right")])
        if isinstance(batch, Deferred):
            yield batch.with_column(_FIELD, found)
        else:
            yield batch.append_column(_FIELD, found)


def _others(positions: Rows, counts: Sequence[int], groups: Sequence[int]) -> Flags:
    """Whether each row of some row groups is at another position."""
    ends = [0, *itertools.accumulate(counts)]
    found = [np.ones(0, dtype=np.bool_)]
    for group in groups:
        low, high = np.searchsorted(positions, ends[group : group + 2])
        flags = np.ones(counts[group], dtype=np.bool_)
        flags[positions[low:high] - ends[group]] = False
        found.append(flags)
    return np.concatenate(found)
