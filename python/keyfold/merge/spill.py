"""Sorted runs on local disk: compressed Arrow streams in files without a name.

So nothing is left behind however the process ends. What the batches have for columns may change on
the way (some have kinds or marks): then another stream begins in the same file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.merge.sorted_run import SortedRun

BATCH_ROWS = 1 << 14
BATCH_BYTES = 1 << 20
_DIRECTORIES = "SPARK_LOCAL_DIRS"
_WRITING = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READING = pa.ipc.IpcReadOptions(use_threads=False)


@dataclass(frozen=True)
class Spilled:
    """One sorted run on disk and the range of its sequence numbers."""

    file: pa.NativeFile
    sequence: tuple[int, int]
    rows: int
    largest: int
    repeats: bool = False

    def open(self) -> SortedRun:
        """The run as the merge reads it; once."""
        return SortedRun(
            self._batches(), self.sequence, self.rows, self.file.size(), self.largest, self.repeats
        )

    def _batches(self) -> Iterator[pa.RecordBatch]:
        end = self.file.size()
        with self.file:
            while self.file.tell() < end:
                with pa.ipc.open_stream(self.file, options=_READING) as stream:
                    yield from stream


def spill(
    batches: Iterable[pa.RecordBatch], sequence: tuple[int, int], *, repeats: bool = False
) -> Spilled:
    """Write a sorted run. Batches are cut to 16 Ki rows and about 1 MiB, but not where keys
    repeat.
    """
    directory = os.environ.get(_DIRECTORIES, "").split(",")[0] or None
    with tempfile.TemporaryFile(dir=directory) as file:
        path = f"/proc/self/fd/{file.fileno()}"
        with _Sink(path) as sink:
            for batch in batches:
                for piece in (batch,) if repeats else _cut(batch):
                    sink.write(piece)
        return Spilled(pa.OSFile(path), sequence, sink.rows, sink.largest, repeats)


class _Sink:
    """The file being written: a stream for each schema in a row."""

    def __init__(self, path: str) -> None:
        self._file = pa.OSFile(path, "wb")
        self._stream: Any = None
        self._schema: pa.Schema | None = None
        self.rows = self.largest = 0

    def __enter__(self) -> _Sink:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._file.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Append one batch."""
        if self._schema is None or not self._schema.equals(batch.schema):
            self._end()
            self._schema = batch.schema
            self._stream = pa.ipc.new_stream(self._file, batch.schema, options=_WRITING)
        self._stream.write_batch(batch)
        self.rows += batch.num_rows
        self.largest = max(self.largest, batch.nbytes)

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    step = max(1, min(BATCH_ROWS, batch.num_rows * BATCH_BYTES // max(batch.nbytes, 1)))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)
