"""Sorted runs of a write buffer on local disk: compressed Arrow streams in files without a name.

So nothing is left behind however the process ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from keyfold.merge.run import SortedRun

BATCH_ROWS = 1 << 14
_DIRECTORIES = "SPARK_LOCAL_DIRS"


@dataclass(frozen=True)
class Spilled:
    """One sorted run on disk and the range of its sequence numbers."""

    file: pa.MemoryMappedFile
    sequence: tuple[int, int]

    def open(self) -> SortedRun:
        """The run as the merge reads it; once."""
        return SortedRun(self._batches(), self.sequence)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        options = pa.ipc.IpcReadOptions(use_threads=False)
        with pa.ipc.open_stream(self.file, options=options) as stream:
            yield from stream
        self.file.close()


def spill(batches: Iterable[pa.RecordBatch], sequence: tuple[int, int]) -> Spilled:
    """Write a sorted run; it is read back in batches of at most 16 Ki rows."""
    directory = os.environ.get(_DIRECTORIES, "").split(",")[0] or None
    with tempfile.TemporaryFile(dir=directory) as file:
        path = f"/proc/self/fd/{file.fileno()}"
        _write(path, batches)
        return Spilled(pa.memory_map(path), sequence)


def _write(path: str, batches: Iterable[pa.RecordBatch]) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    rest = iter(batches)
    first = next(rest)
    with (
        pa.OSFile(path, "wb") as sink,
        pa.ipc.new_stream(sink, first.schema, options=options) as stream,
    ):
        for batch in chain((first,), rest):
            _append(stream, batch)


def _append(stream: pa.ipc.RecordBatchStreamWriter, batch: pa.RecordBatch) -> None:
    for start in range(0, batch.num_rows, BATCH_ROWS):
        stream.write_batch(batch.slice(start, BATCH_ROWS))
