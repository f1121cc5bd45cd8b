"""Files of a message, written again under another sequence number. A commit asks for that after a
tie. Rows of a job that has two numbers stay in their order.

Two jobs that start in one millisecond and draw the same random offset would hand out equal numbers,
which have no defined order. The later commit gives its own files a greater number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.options.parsing import parse
from keyfold.read.parquet import Wanted, read_file
from keyfold.wire.specs import SEQUENCE, CommitMessage, ScanSpec, WriteSpec
from keyfold.write.job import Job, delete_files
from keyfold.write.parquet import Target, write_files


def renumber(
    spec: WriteSpec, messages: Sequence[CommitMessage], sequence: int
) -> list[CommitMessage]:
    """The messages of new files with the same rows, the least of which carry `sequence`. The old
    files, which no snapshot names, are removed. On an error the new ones are removed too. Changelog
    files stay: no reader orders their rows by number.
    """
    least = min((f.min_sequence for message in messages for f in message.files), default=0)
    with Job(spec.layout) as made:
        for message in messages:
            made.messages.append(_renumbered(spec, message, sequence - least))
    return made.messages


def _renumbered(spec: WriteSpec, message: CommitMessage, added: int) -> CommitMessage:
    directory = message.partition.bucket_folder(spec.layout, message.bucket)
    target = Target(spec.layout, parse(spec.layout))
    scan = ScanSpec(spec.layout, tuple(spec.layout.arrow_schema.names), {})
    is_marked = any(file.is_marked for file in message.files)
    wanted = Wanted(scan.columns, sequence=True, marks=is_marked)

    def rows() -> Iterator[pa.RecordBatch]:
        for file in message.files:
            for batch in read_file(scan, target.store, directory, file, wanted):
                assert isinstance(batch, pa.RecordBatch)
                place = batch.schema.get_field_index(SEQUENCE)
                numbers = pc.add(batch.column(place), added)
                yield batch.set_column(place, batch.schema.field(place), numbers)

    files = tuple(write_files(target, directory, rows()))
    delete_files(target.store, directory, message.files)
    return replace(message, files=files)
