"""Changelog files: their place, names and form. They have the columns of data files, and may hold a
key more than once; readers take their rows as they lie there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from keyfold.files.buckets import BucketKey
from keyfold.options.changelogs import INPUT
from keyfold.options.clusters import is_postponing
from keyfold.options.declared import TableOptions
from keyfold.options.unparsed import INDEXED
from keyfold.stores import refusals
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import FILE_SUFFIX, FileMeta, WriteSpec
from keyfold.write.buffer import WriteBuffer
from keyfold.write.durable import Flush, Flushes
from keyfold.write.job import delete_files, file_names
from keyfold.write.parquet import Target, write_files

Shaped = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_COPIED = 16 << 20  # bytes at once


def changelog_target(layout: TableLayout, options: TableOptions, level: int) -> Target:
    """The form of changelog files of one task, which count as files of that level. They are read
    from end to end, so that they have no indexes.
    """
    codec = options.changelog_compression or options.file_compression
    values = {**options.values, TableOptions.file_compression.name: codec, INDEXED.name: ()}
    names = file_names(options.changelog_prefix)
    return Target(layout, replace(options, values=values), level, names)


def writes_input(spec: WriteSpec, options: TableOptions) -> bool:
    """Whether a job writes its records to changelog files. An overwrite's changes are written when
    it is committed (`overwritten`), those of rows that get buckets later when they get them.
    """
    emits = spec.mode == "append" and not is_postponing(options)
    return options.changelog_producer == INPUT and emits


def input_changelog(
    data: Target,
    directory: str,
    buffer: WriteBuffer,
    place: BucketKey,
    files: Sequence[FileMeta],
    sequence: int,
    flushes: Flushes,
    shaped: Shaped | None,
) -> tuple[FileMeta, ...]:
    """The changelog files of a bucket that is finished: the records of `files`, before they were
    folded, as `shaped` gives them, or as they came. Then, if no record met another one of its key,
    the bytes are copied. The bucket is released.
    """
    target = changelog_target(data.layout, data.options, 0)
    kept = buffer.released(place)
    is_whole = kept.rows == sum(file.rows for file in files)
    is_alike = target.options.file_compression == data.options.file_compression
    is_copy = is_whole and is_alike and not any(file.is_marked for file in files)
    if shaped is None and is_copy:
        return tuple(_copies(target, directory, files, flushes))
    records = buffer.records(kept)
    shown = records if shaped is None else shaped(records)
    return tuple(write_files(target, directory, shown, sequence, flushes))


def _copies(
    target: Target, directory: str, files: Sequence[FileMeta], flushes: Flushes
) -> Iterator[FileMeta]:
    made: list[FileMeta] = []
    try:
        for file in files:
            made.append(replace(file, name=f"{next(target.names)}{FILE_SUFFIX}", index=None))
            source, path = (f"{directory}/{one.name}" for one in (file, made[-1]))
            _copy(target, source, path, file.size, flushes)
            yield made[-1]
    except BaseException:
        delete_files(target.store, directory, made)
        raise


def _copy(target: Target, source: str, path: str, size: int, flushes: Flushes) -> None:
    with refusals.writing(path), target.store.create(path) as sink:
        for start in range(0, size, _COPIED):
            sink.write(target.store.ranges(source, [(start, min(size, start + _COPIED))])[0])
    if target.is_synced:
        flushes.add(Flush(path), size)
