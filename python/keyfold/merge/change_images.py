"""Before- and after-images for the changelog, computed while runs merge: one run is in it already.

A key without a record of another run is as it was, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.merge.engine import Folded, MergeStep
from keyfold.merge.spill import Spilled, SpillFile

_HELD = 8 << 20  # bytes of rows that stay in memory


@dataclass
class SpilledRows:
    """Batches in key order, most of them on disk."""

    held: list[pa.RecordBatch] = field(default_factory=list)
    spilled: list[Spilled] = field(default_factory=list)
    bytes: int = 0

    def add(self, schema: pa.Schema, arrays: Sequence[pa.Array]) -> None:
        """Take rows, which come after all others."""
        if not len(arrays[0]):
            return
        typed = [a.cast(f.type) for a, f in zip(arrays, schema, strict=True)]  # of long texts too
        batch = pa.RecordBatch.from_arrays(typed, schema=schema)
        self.held.append(batch)
        self.bytes += batch.nbytes
        if self.bytes > _HELD:
            self.spilled.append(SpillFile(is_compressed=False).append(self.held, (0, 0)))
            self.held, self.bytes = [], 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows; they can be had once."""
        for spilled in self.spilled:
            yield from spilled.open().batches
        yield from self.held


@dataclass
class ChangeImages:
    """The rows of keys that one merge after another may change, before and after."""

    before: SpilledRows = field(default_factory=SpilledRows)
    after: SpilledRows = field(default_factory=SpilledRows)

    def folded(
        self, schema: pa.Schema, step: MergeStep, folded: Folded, written: tuple[int, int]
    ) -> None:
        """Take a round. The rows from `written[0]` up to `written[1]` of the step are in the
        changelog
        already, each key once; the results of the fold are what readers see.
        """
        sizes, count = np.diff(step.starts), len(step.starts) - 1
        group_of = np.empty(len(step.order), dtype=np.int64)
        group_of[step.order] = np.repeat(np.arange(count), sizes)
        before, after = _none(count), _none(count)
        before[group_of[slice(*written)]] = np.arange(*written)
        after[group_of[folded.last]] = np.arange(len(folded.last))
        has_new = sizes > (before >= 0)
        olds, news = (_there(rows[has_new]) for rows in (before, after))
        self.before.add(schema, step.columns.taken(schema.names, olds))
        self.after.add(schema, [take(array, indices(news)) for array in folded.arrays])


def _none(count: int) -> Rows:
    return np.full(count, -1, dtype=np.int64)


def _there(rows: Rows) -> Rows:
    found: Rows = rows[rows >= 0]
    return found
