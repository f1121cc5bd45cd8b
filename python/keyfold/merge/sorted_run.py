"""A sorted run as the merge takes it, with facts about its size known before it is read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from keyfold.merge.column_results import combine
from keyfold.merge.deferred import Deferred
from keyfold.merge.kinds import SEQUENCE_NUMBER


@dataclass(frozen=True)
class SortedRun:
    """Batches sorted by key, each key once, with the columns `plan.reads`; the system columns
    (number, kind, marks) are optional. They may be `Deferred`, with `plan.decide` decoded.

    `sequence` is the least and greatest sequence number of the run, both inclusive. Three estimates
    are 0 if not known: its `rows`, its `stored` bytes, and the bytes that are `held` while it is
    read, beside its batches. The rows of a run may be `in_changelog`
    already. A run that `repeats` has keys more than once, the oldest record first, no key in two
    batches.
    """

    batches: Iterator[pa.RecordBatch | Deferred]
    sequence: tuple[int, int]
    rows: int = 0
    stored: int = 0
    held: int = 0
    repeats: bool = False
    in_changelog: bool = False


def by_age(runs: Sequence[SortedRun]) -> list[SortedRun]:
    """Runs in the order of their greatest sequence numbers, oldest first."""
    return sorted(runs, key=lambda run: _age(run.sequence))


def sequences_overlap(ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether the `_SEQUENCE_NUMBER` column is needed to order runs with these ranges."""
    ordered = sorted(ranges, key=_age)
    return any(after[0] <= before[1] for before, after in pairwise(ordered))


def _age(bounds: tuple[int, int]) -> tuple[int, int]:
    return bounds[1], bounds[0]


def numbers_of(pieces: Sequence[list[pa.RecordBatch]], greatest: Sequence[int]) -> pa.Array:
    """The sequence numbers of all rows; a run without that column has its greatest number."""
    parts = [
        _numbers(batch, number)
        for found, number in zip(pieces, greatest, strict=True)
        for batch in found
    ]
    return combine(parts)


def _numbers(batch: pa.RecordBatch, greatest: int) -> pa.Array:
    place = batch.schema.get_field_index(SEQUENCE_NUMBER)
    if place >= 0:
        return batch.column(place)
    return pa.array(np.full(batch.num_rows, greatest, dtype=np.int64))
