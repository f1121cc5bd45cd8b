"""Sorted, folded batches of one bucket become data files in Paimon's form.

A file is written under its final name: nothing reads it before a commit names it. It is rolled at
the target size, and removed if writing it fails.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from keyfold.errors import TableError
from keyfold.files.indexes.file_indexes import SUFFIX, as_text
from keyfold.files.indexes.making import Making
from keyfold.files.leaves import Leaves, leaves_of
from keyfold.kernels.ops import RETRACTIONS
from keyfold.lazy import cached_property
from keyfold.merge.marks.mark_columns import is_marked as has_marks
from keyfold.options.columns.bloom_filters import BloomFilterSize, bloom_filters
from keyfold.options.declared import TableOptions
from keyfold.options.unparsed import IN_MANIFEST
from keyfold.resources.metering import metered
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.storage.metadata.cut_bounds import (  # fmt: skip
    KEY_LENGTH,
    VALUE_LENGTH,
    first_and_last,
    row_stats,
)
from keyfold.stores import refusals
from keyfold.stores.files import Files
from keyfold.stores.opened import store_of
from keyfold.types.logical import is_atomic
from keyfold.types.required import fitted
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import FILE_SUFFIX, KIND, MARKED_SUFFIX, SEQUENCE, FileMeta
from keyfold.write.durable import Flush, Flushes
from keyfold.write.encoding import (
    FEW_BYTES,
    long_columns,
    regrouped,
    settings_of_few,
    writer_settings,
)
from keyfold.write.job import delete_files, file_names
from keyfold.write.schema import KEY_PREFIX, file_schema
from keyfold.write.stats import as_batch, collect


@dataclass(frozen=True)
class Target:
    """The place and the form of the files of one task. `names` hands out file names without their
    suffix."""

    layout: TableLayout
    options: TableOptions
    level: int = 0
    names: Iterator[str] = field(default_factory=file_names)
    _leaves: dict[bool, Leaves] = field(default_factory=dict)

    @cached_property
    def store(self) -> Files:
        """The store that holds the table."""
        return store_of(self.layout.location, self.layout.store)

    @cached_property
    def schemas(self) -> list[pa.Schema]:
        """The columns of a file without marks, and of one with marks."""
        is_thin = self.options.thin_files
        return [file_schema(self.layout, is_thin=is_thin, is_marked=f) for f in (False, True)]

    @cached_property
    def of_few(self) -> list[dict[str, Any]]:
        """The settings of writers of files of a few rows, without marks and with them."""
        return [settings_of_few(self.options, schema) for schema in self.schemas]

    @cached_property
    def atomic(self) -> list[pa.Field]:
        """The columns that statistics are kept of."""
        return [column.arrow_field for column in self.layout.columns if is_atomic(column.type)]

    @cached_property
    def codecs(self) -> tuple[RowCodec, RowCodec]:
        """The codecs of keys, and of statistics of values."""
        layout = self.layout
        names = layout.key, [field.name for field in self.atomic]
        keys, values = ([layout.column(name).type for name in some] for some in names)
        return RowCodec.of(keys), RowCodec.of(values)

    def leaves(self, metadata: pq.FileMetaData, *, is_marked: bool) -> Leaves:
        """The columns of a file with marks, or without, as its schema says."""
        found = self._leaves.get(is_marked)
        if found is None:
            found = self._leaves[is_marked] = leaves_of(metadata)
        return found

    @cached_property
    def filters(self) -> dict[str, BloomFilterSize]:
        """The Bloom filters of each file, by column."""
        return bloom_filters(self.layout, self.options)

    @property
    def is_synced(self) -> bool:
        """Whether files are flushed to the disk."""
        return self.options.sync_files and self.store.is_local


def write_files(
    target: Target,
    directory: str,
    batches: Iterable[pa.RecordBatch],
    sequence: int | None = None,
    flushes: Flushes | None = None,
) -> list[FileMeta]:
    """Write sorted batches of all table columns, each key once; returns the files, in key order.
    They are on the disk then, or with `flushes` given when these end.

    `_VALUE_KIND` (int8, absent = all +I), `_SEQUENCE_NUMBER` (int64) and marks are optional
    columns. With `sequence` given every row carries that number. Rows with marks go to files with a
    suffix of their own. On an error the files made so far are removed.
    """
    metas: list[FileMeta] = []
    try:
        with Flushes() if flushes is None else nullcontext(flushes) as waiting:
            for meta in _written(target, directory, batches, sequence, waiting):
                metas.append(meta)
    except BaseException:
        delete_files(target.store, directory, metas)
        raise
    return metas


def _written(
    target: Target,
    directory: str,
    batches: Iterable[pa.RecordBatch],
    sequence: int | None,
    flushes: Flushes,
) -> Iterator[FileMeta]:
    file: _OpenFile | None = None
    try:
        for chunk, rows in regrouped(batches, target.options.row_group_rows):
            is_marked = any(map(has_marks, chunk.to_batches()))
            long = long_columns(chunk)
            if file is not None and not file.takes(is_marked, long):
                yield file.close(flushes)
                file = None
            schema = target.schemas[is_marked if file is None else file.is_marked]
            table = _stored(chunk, schema, sequence)
            if file is None:
                file = _OpenFile(target, directory, table, is_marked, long)
            file.write(table, rows, _count_deletes(chunk))
            if file.size >= target.options.target_file_size:
                yield file.close(flushes)
                file = None
        if file is not None:
            yield file.close(flushes)
    except BaseException:
        if file is not None:
            file.discard()
        raise


class _OpenFile:
    """A data file being written."""

    def __init__(
        self,
        target: Target,
        directory: str,
        first: pa.Table,
        is_marked: bool,
        long: frozenset[str],
    ) -> None:
        self._target = target
        self._schema = first.schema
        self.is_marked = is_marked
        self._name = next(target.names) + (MARKED_SUFFIX if is_marked else FILE_SUFFIX)
        self._path = f"{directory}/{self._name}"
        self._sink = target.store.create(self._path)
        self._flush = Flush(self._path) if target.is_synced else None
        # The `_KEY_` copy of a long key is long too.
        self._long = long
        names = {f.name for f in first.schema if f.name.removeprefix(KEY_PREFIX) in long}
        settings = target.of_few[is_marked]
        if names or first.nbytes > FEW_BYTES:
            settings = writer_settings(target.options, first.schema, first, names)
        try:
            with refusals.writing(self._path):
                self._writer = pq.ParquetWriter(self._sink, first.schema, **settings)
        except BaseException:
            self.discard()
            raise
        self._index = Making(target.filters) if target.filters else None
        self._deletes = 0
        self._nulls = dict.fromkeys(names, 0)
        self._first: pa.Table | None = None
        self._last: pa.Table | None = None

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return int(self._sink.tell())

    def takes(self, is_marked: bool, long: frozenset[str]) -> bool:
        """Whether rows with or without marks, with these long columns, may go to this file."""
        return self.is_marked >= is_marked and self._long >= long

    @metered("encode")
    def write(self, table: pa.Table, row_group_rows: int, deletes: int) -> None:
        """Append row groups, with `deletes` retractions."""
        with refusals.writing(self._path):
            self._writer.write_table(table, row_group_size=row_group_rows)
        if self._flush is not None:
            self._flush.begin(self.size)
        if self._index is not None:
            self._index.add(table)
        self._deletes += deletes
        for name in self._nulls:
            self._nulls[name] += table[name].null_count
        keys = table.select(list(self._target.layout.key))
        self._first = keys.slice(0, 1) if self._first is None else self._first
        self._last = keys.slice(len(keys) - 1)

    @metered("encode")
    def close(self, flushes: Flushes) -> FileMeta:
        """End the file; returns its description. The file is on the disk when `flushes` end."""
        with refusals.writing(self._path):
            self._writer.close()
            size = self.size
            self._sink.close()
        flush, self._flush = self._flush, None
        if flush is not None:
            flushes.add(flush, size)
        index = self._index_at_end(flushes)
        return self._describe(self._writer.writer.metadata, size, index)

    def _index_at_end(self, flushes: Flushes) -> str | None:
        """The file's index, as `as_text` has it. A large one is a file beside it."""
        if self._index is None:
            return None
        found = self._index.index()
        if len(found) <= self._target.options[IN_MANIFEST]:
            return as_text(None, found)
        path = f"{self._path}{SUFFIX}"
        with refusals.writing(path):
            with self._target.store.create(path) as sink:
                sink.write(found)
            if self._target.is_synced:
                flushes.add(Flush(path), len(found))
        return f"{self._name}{SUFFIX}"

    def discard(self) -> None:
        """End and remove a file whose writing failed, and its index."""
        with suppress(OSError):  # of bytes that were not written yet
            self._sink.close()
        if self._flush is not None:
            self._flush.close()
        self._target.store.remove(self._path)
        if self._target.filters:
            self._target.store.remove(f"{self._path}{SUFFIX}")

    def _describe(self, metadata: pq.FileMetaData, size: int, index: str | None) -> FileMeta:
        layout, atomic = self._target.layout, self._target.atomic
        names = [field.name for field in atomic]
        leaves = self._target.leaves(metadata, is_marked=self.is_marked)
        *ranges, sequences = collect(metadata, leaves, self._schema, [*names, SEQUENCE])
        values = as_batch(ranges, atomic)
        nulls = {name: found.nulls for name, found in zip(names, ranges, strict=True)}
        nulls |= {name: count for name, count in self._nulls.items() if name in nulls}
        key_nulls = [nulls[name] for name in layout.key]
        ends = _bounds(self._first, self._last, [layout.column(n).arrow_field for n in layout.key])
        of_keys, of_values = self._target.codecs
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
            keys=first_and_last(of_keys, ends),
            key_stats=row_stats(of_keys, values.select(layout.key), key_nulls, KEY_LENGTH),
            value_stats=row_stats(of_values, values, [*nulls.values()], VALUE_LENGTH),
            value_stats_columns=None if len(names) == len(layout.columns) else tuple(names),
            index=index,
        )


def _bounds(first: pa.Table, last: pa.Table, keys: list[pa.Field]) -> pa.RecordBatch:
    both = pa.concat_tables([first, last]).cast(pa.schema(keys))
    return both.combine_chunks().to_batches()[0]


def _count_deletes(rows: pa.Table) -> int:
    """The number of rows that are retractions."""
    if KIND not in rows.schema.names:
        return 0
    return sum(int(np.isin(chunk.to_numpy(), RETRACTIONS).sum()) for chunk in rows[KIND].chunks)


def _stored(table: pa.Table, schema: pa.Schema, sequence: int | None) -> pa.Table:
    """The columns of the file, in its order and types."""
    columns = [_column(table, field, sequence) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


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
    if pa.types.is_nested(column.type):  # rows that were moved since they were made are not fitted
        column = pa.chunked_array([fitted(c, c.type) for c in column.chunks], column.type)
    return column if column.type.equals(field.type) else pc.cast(column, field.type, safe=False)


def _constant(value: np.generic, length: int) -> pa.Array:
    return pa.array(np.full(length, value))
