"""Sorted, folded batches of one bucket become data files in Paimon's form.

A file is written under its final name: nothing reads it before a commit names it. It is rolled at
the target size, and removed if writing it fails.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from keyfold import disk
from keyfold.errors import TableError
from keyfold.journey import FILE_SUFFIX, KIND, MARKED_SUFFIX, SEQUENCE, FileMeta
from keyfold.layout import TableLayout
from keyfold.merge.marks import is_marked as has_marks
from keyfold.metering import metered
from keyfold.options import TableOptions
from keyfold.read.files import Store, create, local_path, remove
from keyfold.types import is_atomic
from keyfold.write.durable import Flush
from keyfold.write.encoding import writer_settings
from keyfold.write.groups import regrouped
from keyfold.write.long import long_columns
from keyfold.write.schema import KEY_PREFIX, file_schema
from keyfold.write.stats import as_batch, collect


@dataclass(frozen=True)
class Target:
    """Where and how the files of one bucket are written; `names` hands out file names without their
    suffix."""

    layout: TableLayout
    options: TableOptions
    store: Store
    directory: str
    names: Iterator[str]
    level: int = 0


def write_files(
    target: Target, batches: Iterable[pa.RecordBatch], sequence: int | None = None
) -> list[FileMeta]:
    """Write sorted batches of all table columns, each key once; returns what was written, in key
    order.

    `_VALUE_KIND` (int8, absent = all +I), `_SEQUENCE_NUMBER` (int64) and marks are optional
    columns; with `sequence` given every row carries that number. Rows with marks go to files of
    their own suffix. On an error the files made so far are removed.
    """
    metas: list[FileMeta] = []
    schemas = [
        file_schema(target.layout, is_thin=target.options.thin_files, is_marked=flag)
        for flag in (False, True)
    ]
    open_file: _OpenFile | None = None
    try:
        for chunk, rows in regrouped(batches, target.options.row_group_rows):
            is_marked = any(map(has_marks, chunk.to_batches()))
            long = long_columns(chunk)
            if open_file is not None and not open_file.takes(is_marked, long):
                metas.append(open_file.close())
                open_file = None
            schema = schemas[is_marked if open_file is None else open_file.is_marked]
            table = _stored(chunk, schema, sequence)
            if open_file is None:
                open_file = _OpenFile(target, schema, table, is_marked, long)
            open_file.write(table, rows)
            if open_file.size >= target.options.target_file_size:
                metas.append(open_file.close())
                open_file = None
        if open_file is not None:
            metas.append(open_file.close())
    except BaseException:
        if open_file is not None:
            open_file.discard()
        delete_files(target.store, target.directory, metas)
        raise
    return metas


def delete_files(store: Store, directory: str, files: Iterable[FileMeta]) -> None:
    """Remove data files that no snapshot names."""
    for file in files:
        remove(store, f"{directory}/{file.name}")


class _OpenFile:
    """A data file being written."""

    def __init__(
        self,
        target: Target,
        schema: pa.Schema,
        first: pa.Table,
        is_marked: bool,
        long: frozenset[str],
    ) -> None:
        self._target = target
        self._schema = schema
        self.is_marked = is_marked
        self._name = next(target.names) + (MARKED_SUFFIX if is_marked else FILE_SUFFIX)
        self._sink = create(target.store, self._path)
        is_synced = target.options.sync_files and target.store.filesystem is None
        self._flush = Flush(local_path(self._path)) if is_synced else None
        # The `_KEY_` copy of a long key is as long.
        self._long = long
        names = {f.name for f in schema if f.name.removeprefix(KEY_PREFIX) in long}
        settings = writer_settings(target.options, schema, first, names)
        try:
            with disk.writing(self._path):
                self._writer = pq.ParquetWriter(self._sink, schema, **settings)
        except BaseException:
            self.discard()
            raise
        self._deletes = 0
        self._nulls = dict.fromkeys(names, 0)
        self._sequence: tuple[int, int] | None = None
        self._first: pa.Table | None = None
        self._last: pa.Table | None = None

    @property
    def _path(self) -> str:
        return f"{self._target.directory}/{self._name}"

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return int(self._sink.tell())

    def takes(self, is_marked: bool, long: frozenset[str]) -> bool:
        """Whether rows with or without marks, with these long columns, may go to this file."""
        return self.is_marked >= is_marked and self._long >= long

    @metered("encode")
    def write(self, table: pa.Table, row_group_rows: int) -> None:
        """Append row groups."""
        with disk.writing(self._path):
            self._writer.write_table(table, row_group_size=row_group_rows)
        if self._flush is not None:
            self._flush.begin(self.size)
        self._deletes += _count_deletes(table[KIND])
        for name in self._nulls:
            self._nulls[name] += table[name].null_count
        keys = table.select(list(self._target.layout.key))
        self._first = keys.slice(0, 1) if self._first is None else self._first
        self._last = keys.slice(len(keys) - 1)

    @metered("encode")
    def close(self) -> FileMeta:
        """End the file and describe it."""
        with disk.writing(self._path):
            self._writer.close()
            size = self.size
            if self._flush is not None:
                self._flush.end()
        self._release()
        return self._describe(self._writer.writer.metadata, size)

    def discard(self) -> None:
        """End and remove a file whose writing failed."""
        self._release()
        remove(self._target.store, self._path)

    def _release(self) -> None:
        self._sink.close()
        if self._flush is not None:
            self._flush.close()
            self._flush = None

    def _describe(self, metadata: pq.FileMetaData, size: int) -> FileMeta:
        layout = self._target.layout
        atomic = [column for column in layout.columns if is_atomic(column.type)]
        keys = [layout.column(name).arrow_field for name in layout.key]
        key_ranges = collect(metadata, self._schema, layout.key)
        ranges = collect(metadata, self._schema, [column.name for column in atomic])
        (sequences,) = collect(metadata, self._schema, [SEQUENCE])
        return FileMeta(
            name=self._name,
            size=size,
            rows=metadata.num_rows,
            delete_rows=self._deletes,
            min_sequence=sequences.low,
            max_sequence=sequences.high,
            schema_id=layout.schema_id,
            level=self._target.level,
            creation_millis=int(time.time() * 1000),
            keys=_bounds(self._first, self._last, pa.schema(keys)),
            key_stats=as_batch(key_ranges, keys),
            value_stats=as_batch(ranges, [column.arrow_field for column in atomic]),
            key_nulls=tuple(r.nulls for r in key_ranges),
            value_nulls=tuple(
                self._nulls.get(c.name, r.nulls) for c, r in zip(atomic, ranges, strict=True)
            ),
            value_stats_columns=tuple(column.name for column in atomic),
        )


def _bounds(first: pa.Table | None, last: pa.Table | None, schema: pa.Schema) -> pa.RecordBatch:
    both = pa.concat_tables([first, last]).rename_columns(schema.names).cast(schema)
    return both.combine_chunks().to_batches()[0]


def _count_deletes(kinds: pa.ChunkedArray) -> int:
    """Rows of kind -U (1) or -D (3): the odd ones."""
    return sum(
        int(np.count_nonzero(chunk.to_numpy(zero_copy_only=True) & 1)) for chunk in kinds.chunks
    )


def _stored(table: pa.Table, schema: pa.Schema, sequence: int | None) -> pa.Table:
    """The columns of the file, in its order and types."""
    columns = [_column(table, field, sequence) for field in schema]
    try:
        return pa.Table.from_arrays(columns, schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:  # pragma: no cover
        raise AssertionError(f"columns don't fit the file schema: {error}") from error


def _column(table: pa.Table, field: pa.Field, sequence: int | None) -> Any:
    if field.name == SEQUENCE and sequence is not None:
        return _constant(np.int64(sequence), len(table))
    if field.name == KIND and KIND not in table.column_names:
        return _constant(np.int8(0), len(table))
    column = table[field.name.removeprefix(KEY_PREFIX)]
    if not field.nullable and column.null_count:
        raise TableError(
            f"column {field.name} is NOT NULL but folding its rows gave {column.null_count} NULLs; "
            "declare the column nullable"
        )
    return column if column.type.equals(field.type) else pc.cast(column, field.type, safe=False)


def _constant(value: np.generic, length: int) -> pa.Array:
    return pa.array(np.full(length, value))
