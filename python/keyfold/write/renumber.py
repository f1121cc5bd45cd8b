"""Files of a message written again under another sequence number: what a commit asks for after a
tie.

Two jobs that start in one millisecond and draw one random offset would hand out equal numbers,
which have no defined order; the later commit moves its own files up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from keyfold.files.paths import bucket_path
from keyfold.options import parse
from keyfold.read.parquet import Wanted, read_file
from keyfold.stores.opened import store_of
from keyfold.wire.specs import CommitMessage, DataFile, FileMeta, ScanSpec, WriteSpec
from keyfold.write.parquet import Target, delete_files, write_files
from keyfold.write.writer import abandon, file_names


def renumber(
    spec: WriteSpec, messages: Sequence[CommitMessage], sequence: int
) -> list[CommitMessage]:
    """The same rows in new files whose rows carry `sequence`; the old files, in no snapshot, are
    removed. On an error so are the new ones.
    """
    made: list[CommitMessage] = []
    try:
        for message in messages:
            made.append(_renumbered(spec, message, sequence))
    except BaseException:
        abandon(spec, made)
        raise
    return made


def _renumbered(spec: WriteSpec, message: CommitMessage, sequence: int) -> CommitMessage:
    store = store_of(spec.layout.location, spec.layout.store)
    directory = bucket_path(spec.layout, message.partition, message.bucket)
    target = Target(spec.layout, parse(spec.layout), store, file_names())
    scan = ScanSpec(spec.layout, tuple(spec.layout.arrow_schema.names), {})
    files_before = [_stored(file) for file in message.files]
    wanted = Wanted(scan.columns, marks=any(file.is_marked for file in files_before))

    def rows() -> Iterator[pa.RecordBatch]:
        for file in files_before:
            yield from read_file(scan, store, directory, file, wanted)

    files = tuple(write_files(target, directory, rows(), sequence))
    delete_files(store, directory, message.files)
    return CommitMessage(message.partition, message.bucket, message.total_buckets, files)


def _stored(file: FileMeta) -> DataFile:
    return DataFile(
        file.name,
        file.size,
        file.rows,
        file.delete_rows,
        file.min_sequence,
        file.max_sequence,
        file.schema_id,
        file.level,
    )
