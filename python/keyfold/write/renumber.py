"""Files of a message, written again under another sequence number. A commit asks for that after a
tie.

Two jobs that start in one millisecond and draw the same random offset would hand out equal numbers,
which have no defined order. The later commit gives its own files a greater number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from keyfold.files.paths import bucket_path
from keyfold.options import parse
from keyfold.read.parquet import Wanted, read_file
from keyfold.wire.specs import CommitMessage, ScanSpec, WriteSpec
from keyfold.write.job import Job, delete_files
from keyfold.write.parquet import Target, write_files


def renumber(
    spec: WriteSpec, messages: Sequence[CommitMessage], sequence: int
) -> list[CommitMessage]:
    """The messages of new files with the same rows, which carry `sequence`. The old files, which no
    snapshot names, are removed. On an error the new ones are removed too. Changelog files stay: no
    reader orders their rows by number.
    """
    with Job(spec.layout) as made:
        for message in messages:
            made.messages.append(_renumbered(spec, message, sequence))
    return made.messages


def _renumbered(spec: WriteSpec, message: CommitMessage, sequence: int) -> CommitMessage:
    directory = bucket_path(spec.layout, message.partition, message.bucket)
    target = Target(spec.layout, parse(spec.layout))
    scan = ScanSpec(spec.layout, tuple(spec.layout.arrow_schema.names), {})
    wanted = Wanted(scan.columns, marks=any(file.is_marked for file in message.files))

    def rows() -> Iterator[pa.RecordBatch]:
        for file in message.files:
            yield from read_file(scan, target.store, directory, file, wanted)

    files = tuple(write_files(target, directory, rows(), sequence))
    delete_files(target.store, directory, message.files)
    return replace(message, files=files)
