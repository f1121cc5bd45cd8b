"""Sorted runs on local disk: Arrow streams, mostly compressed, in files without a name.

So nothing is left behind, however the process ends. The columns of the batches may change on the
way, as some have kinds or marks. Then another stream begins in the same file.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.merge.sorted_run import SortedRun
from keyfold.stores import refusals

BATCH_ROWS = 1 << 14
BATCH_BYTES = 1 << 20
_DIRECTORIES = "SPARK_LOCAL_DIRS"
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_RAW = pa.ipc.IpcWriteOptions(use_threads=False)
_READING = pa.ipc.IpcReadOptions(use_threads=False)


class SpillFile:
    """A file without a name that holds spilled runs; it is gone with the last of them.

    A write of 4 M rows that spills 136 of 190 MiB takes 1.3 s of a core, 1.1 s if these are not
    compressed, 1.0 s without spills. It is worth that while the system's page cache may hold them.
    """

    def __init__(self, *, is_compressed: bool = True) -> None:
        self._options = _COMPRESSED if is_compressed else _RAW
        self._directory = os.environ.get(_DIRECTORIES, "").split(",")[0] or tempfile.gettempdir()
        with tempfile.TemporaryFile(dir=self._directory) as file:
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    @property
    def path(self) -> str:
        """The path at which this process can open it."""
        return f"/proc/self/fd/{self._descriptor}"

    def append(
        self, batches: Iterable[pa.RecordBatch], sequence: tuple[int, int], *, repeats: bool = False
    ) -> Spilled:
        """Write a sorted run. Batches are cut to 16 Ki rows and about 1 MiB, but not if keys
        repeat.
        """
        start = os.fstat(self._descriptor).st_size
        with refusals.writing(self._directory), _Sink(self.path, self._options) as sink:
            for batch in batches:
                for piece in (batch,) if repeats else _cut(batch):
                    sink.write(piece)
        stop = os.fstat(self._descriptor).st_size
        return Spilled(self, (start, stop), sequence, sink.rows, sink.largest, repeats)


@dataclass(frozen=True)
class Spilled:
    """One sorted run on disk, at `place` of a file, and the range of its sequence numbers."""

    file: SpillFile
    place: tuple[int, int]
    sequence: tuple[int, int]
    rows: int
    largest: int
    repeats: bool

    def open(self) -> SortedRun:
        """The run as the merge reads it; it can be opened once."""
        start, stop = self.place
        held = 2 * self.largest
        return SortedRun(
            self._batches(), self.sequence, self.rows, stop - start, held, self.repeats
        )

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(self.file.path) as file:
            file.seek(self.place[0])
            while file.tell() < self.place[1]:
                with pa.ipc.open_stream(file, options=_READING) as stream:
                    yield from stream


class _Sink:
    """The end of a file: each change of the schema begins another stream."""

    def __init__(self, path: str, options: pa.ipc.IpcWriteOptions) -> None:
        self._file = pa.OSFile(path, "ab")
        self._options = options
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
            self._stream = pa.ipc.new_stream(self._file, batch.schema, options=self._options)
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
