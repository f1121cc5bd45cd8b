"""Stored runs as the merge takes them: their size, the memory that reading them takes, and the
bytes that a batch of each may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from keyfold.files import damage, other_formats
from keyfold.files.cost import held_bytes
from keyfold.files.footers import footer_of, has_footer
from keyfold.files.sections import sequence_range
from keyfold.merge.deferred import Deferred
from keyfold.merge.sorted_run import SortedRun
from keyfold.resources.merge_room import MergeRoom
from keyfold.stores.files import Files
from keyfold.wire.specs import DataFile, Run

Batches = Iterator[pa.RecordBatch | Deferred]
_LEAST_SHARE = 8  # a run's least share of a round is an even share divided by this
_LEAST_BATCH = 8  # least batch: the bytes a reader holds, divided by this; tiny ones cost too much
_FEW = 2  # runs that are read together, whatever memory they take


@dataclass(frozen=True)
class RunEstimate:
    """The place of the runs of one section, and the columns that are read of them."""

    store: Files
    directory: str
    columns: frozenset[str]


def sized_runs(
    source: RunEstimate,
    section: Sequence[Run],
    room: MergeRoom,
    batches: Callable[[Run, int], Batches],
) -> list[SortedRun]:
    """The runs of a section; `batches` reads one in batches of about a given number of bytes."""
    rows = [sum(file.rows for file in run) for run in section]
    total, most = max(sum(rows), 1), len(section) * _LEAST_SHARE
    found = []
    for run, count in zip(section, rows, strict=True):
        size = int(room.round * max(count / total, 1 / most))
        held = _held(source, run[0], size) if len(section) > _FEW else 0
        size = max(size, held // _LEAST_BATCH)
        stored = sum(file.size for file in run)
        found.append(SortedRun(batches(run, size), sequence_range(run), count, stored, held))
    return found


def _held(source: RunEstimate, file: DataFile, size: int) -> int:
    """The bytes that reading a run holds, judged by its first file: that is opened anyway, and the
    others are like it.
    """
    path = f"{source.directory}/{file.name}"
    if not has_footer(path):
        return other_formats.held_bytes(path, file.size)
    footer = footer_of(source.store, path, file.size)
    with damage.decoding(path):
        return held_bytes(footer.metadata, source.columns, size)
