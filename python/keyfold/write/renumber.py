"""Files of a message, written again because others have committed since.

Two jobs that start in one millisecond and draw the same random offset would hand out equal sequence
numbers, which have no defined order. The later commit gives its own files a greater number. Rows of
a job that has two numbers stay in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.options.parsing import parse
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.wire.specs import SEQUENCE, CommitMessage, FileMeta, ScanSpec, WriteSpec
from keyfold.write.changelog import changelog_target
from keyfold.write.job import Job, delete_files
from keyfold.write.keys.postponed import names_of_job
from keyfold.write.parquet import Target, write_files

Changed = Callable[[pa.RecordBatch], pa.RecordBatch]


def renumber(
    spec: WriteSpec, messages: Sequence[CommitMessage], sequence: int
) -> list[CommitMessage]:
    """The messages of new files with the same rows, the least of which carry `sequence`. The old
    files, which no snapshot names, are removed. On an error the new ones are removed too. Changelog
    files stay: no reader orders their rows by number.
    """
    least = min((f.min_sequence for message in messages for f in message.files), default=0)
    changed = partial(_renumbered, sequence - least)
    options = parse(spec.layout)
    with Job(spec.layout) as made:
        for message in messages:
            target = Target(spec.layout, options, names=names_of_job(spec, options))
            files = _anew(spec, message, message.files, target, changed)
            made.messages.append(replace(message, files=files))
            _remove(spec, message, message.files)
    return made.messages


def written_anew(spec: WriteSpec, message: CommitMessage, changed: Changed) -> CommitMessage:
    """The message of new files with other rows in place of its own, those of its changelog too. The
    old files, which no snapshot names, are removed.
    """
    options = parse(spec.layout)
    files = _anew(spec, message, message.files, Target(spec.layout, options), changed)
    made = replace(message, files=files, changelog=())
    with Job(spec.layout, [made]):
        target = changelog_target(spec.layout, options, 0)
        emitted = _anew(spec, message, message.changelog, target, changed)
    _remove(spec, message, (*message.files, *message.changelog))
    return replace(made, changelog=emitted)


def _renumbered(added: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    place = batch.schema.get_field_index(SEQUENCE)
    return batch.set_column(place, batch.schema.field(place), pc.add(batch.column(place), added))


def _anew(
    spec: WriteSpec,
    message: CommitMessage,
    files: Sequence[FileMeta],
    target: Target,
    changed: Changed,
) -> tuple[FileMeta, ...]:
    directory = message.partition.bucket_folder(spec.layout, message.bucket)
    scan = ScanSpec(spec.layout, tuple(spec.layout.arrow_schema.names), {})
    is_marked = any(file.is_marked for file in files)
    wanted = Wanted(scan.columns, sequence=True, marks=is_marked)

    def rows() -> Iterator[pa.RecordBatch]:
        for file in files:
            for batch in read_file(scan, target.store, directory, file, wanted):
                assert isinstance(batch, pa.RecordBatch)
                yield changed(batch)

    return tuple(write_files(target, directory, rows()))


def _remove(spec: WriteSpec, message: CommitMessage, files: Sequence[FileMeta]) -> None:
    directory = message.partition.bucket_folder(spec.layout, message.bucket)
    delete_files(Target(spec.layout, parse(spec.layout)).store, directory, files)
