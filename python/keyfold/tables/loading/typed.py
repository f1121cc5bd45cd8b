"""Parquet and Arrow files, whose columns have types: their batches as they are."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.tables.loading.source import STDIN, LoadedFile

_MAGIC = b"ARROW1"


def rows_of(of: LoadedFile) -> Iterator[pa.RecordBatch]:
    """The rows in batches, the first one perhaps empty. Raises TableError if it is another file."""
    if of.path == STDIN and of.format == "parquet":
        raise of.wrong("", "a Parquet file is read from its end, so it can't come by a pipe")
    with of.opened() as file:
        try:
            yield from _parquet(file) if of.format == "parquet" else _arrow(file)
        except pa.ArrowException as error:
            raise of.wrong("", f"expected a file of format {of.format}: {error}") from None
        except OSError as error:
            raise of.unreadable(error) from None


def _parquet(file: BinaryIO) -> Iterator[pa.RecordBatch]:
    opened = pq.ParquetFile(file)
    yield pa.RecordBatch.from_pylist([], opened.schema_arrow)
    yield from opened.iter_batches()


def _arrow(file: BufferedReader) -> Iterator[pa.RecordBatch]:
    """Arrow's file format, or its stream."""
    if file.peek(len(_MAGIC)).startswith(_MAGIC):
        opened = pa.ipc.open_file(file)
        yield pa.RecordBatch.from_pylist([], opened.schema)
        yield from (opened.get_batch(number) for number in range(opened.num_record_batches))
    else:
        stream = pa.ipc.open_stream(file)
        yield pa.RecordBatch.from_pylist([], stream.schema)
        yield from stream
