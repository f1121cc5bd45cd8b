"""The records of files whose rows have no buckets yet, as runs that merge with others (executor
side). They are in the order in which they came, and are sorted in memory, or in parts on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from keyfold.merge.plan import MergePlan
from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.spill import Spilled, SpillFile
from keyfold.merge.unfolded import sort_records
from keyfold.read.keyrange import KeyRange
from keyfold.resources import budget
from keyfold.wire.partitions import POSTPONED, bucket_name
from keyfold.wire.specs import SEQUENCE, Run, Section

_FOLDER = f"{bucket_name(POSTPONED)}/"
_PART = 8  # of the free memory: sorting takes three times as much besides
_LEAST = 1 << 20


def parted(section: Section) -> tuple[Section, Run]:
    """The sorted runs of a section, and the files of rows that wait, none mostly."""
    if section and section[-1][0].name.startswith(_FOLDER):
        return section[:-1], section[-1]
    return section, ()


def waits(section: Section) -> bool:
    """Whether rows of the section wait for their buckets."""
    return bool(parted(section)[1])


def sorted_runs(
    plan: MergePlan,
    batches: Iterable[pa.RecordBatch],
    number: int,
    within: KeyRange | None,
) -> list[SortedRun]:
    """The records as runs in which keys repeat. They have sequence numbers from this one on, as
    numbers may decide about the order in a merge. Only records of keys `within` are among them.
    """
    limit = max(_LEAST, budget.bytes() // _PART)
    spilled: list[Spilled] = []
    held: list[pa.RecordBatch] = []
    file, size, begin = None, 0, number
    for batch in batches:
        numbered = [_numbered(batch, number)]
        number += batch.num_rows
        for piece in numbered if within is None else _within(within, _sorted(plan, numbered)):
            held.append(piece)
            size += piece.nbytes
        if size > limit:
            file = file or SpillFile()
            spilled.append(file.append(_sorted(plan, held), (begin, number - 1), repeats=True))
            held, size, begin = [], 0, number
    found = _sorted(plan, held)
    rows = sum(batch.num_rows for batch in found)
    last = SortedRun(iter(found), (begin, number - 1), rows, size, size, repeats=True)
    return [*(run.open() for run in spilled), *([last] if found else ())]


def _numbered(batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
    """The records with their sequence numbers."""
    numbers = np.arange(number, number + batch.num_rows, dtype=np.int64)
    return batch.append_column(pa.field(SEQUENCE, pa.int64(), False), pa.array(numbers))


def _within(within: KeyRange, batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The records of a range of keys, without the memory of the others."""
    for batch in batches:
        cut = within.cut(batch)
        yield cut.take(pa.array(np.arange(cut.num_rows)))


def _sorted(plan: MergePlan, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Records ascending by key, those of a key as they came, with their kinds and marks."""
    return sort_records(plan, batches, ordinal=SEQUENCE, marks=True)
