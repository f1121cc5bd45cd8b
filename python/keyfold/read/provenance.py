"""Metadata columns: the bucket, the file and its level, and the sequence number behind a row.

They are not part of a table's columns and cost nothing unless a query names one. A table's own
column of that name hides one. The rows of a table without a key have no sequence number or level.
Statements that change rows ask for the stored values of sequence fields beside the new ones. So
there are metadata columns of these too, `_stored_<field>`, if such a field orders whole records;
and of the columns of a key that may be NULL, by which Spark names no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.merge.origins import ORIGIN
from keyfold.options.parsing import parse
from keyfold.types.spark import to_spark
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import SEQUENCE, ScanSpec, Split

STORED = "_stored_"


@dataclass(frozen=True)
class RowMetadata:
    """A column that every table has: its Arrow field, its type in Spark, and its meaning."""

    field: pa.Field
    type: Any
    comment: str
    needs_key: bool = False

    @property
    def name(self) -> str:
        return str(self.field.name)


_FILE = RowMetadata(
    pa.field("_file", pa.string()),
    "string",
    "the data file of the record that is the row; NULL if several records are",
)
_BUCKET = RowMetadata(pa.field("_bucket", pa.int32(), False), "integer", "the row's bucket")
_NUMBER = RowMetadata(
    pa.field("_sequence_number", pa.int64(), False),
    "long",
    "the sequence number of the record that is the row, or of the last one that was folded",
    needs_key=True,
)
_LEVEL = RowMetadata(
    pa.field("_level", pa.int32()),
    "integer",
    "the level of the data file of the record that is the row; NULL if several records are",
    needs_key=True,
)
COLUMNS = (_FILE, _BUCKET, _NUMBER, _LEVEL)


def metadata_columns(layout: TableLayout) -> list[RowMetadata]:
    """The metadata columns of a table."""
    own = [column for column in COLUMNS if layout.key or not column.needs_key]
    stored = [_stored(layout, name) for name in _all_stored(layout).values()]
    return [column for column in (*own, *stored) if not layout.has_column(column.name)]


def stored_sequences(layout: TableLayout) -> dict[str, str]:
    """The sequence fields, by the metadata columns that have their stored values, of a table whose
    engine keeps the last record. None if the table has a column of such a name.
    """
    options = parse(layout)
    fields = options.sequence_fields or () if options.engine.is_default else ()
    found = {STORED + name: name for name in fields}
    return {} if any(layout.has_column(name) for name in found) else found


def stored_keys(layout: TableLayout) -> dict[str, str]:
    """The columns of a key that may be NULL, by the metadata columns that have their stored values.
    None if the table has a column of such a name, or one that hides the number of the bucket.
    """
    is_nullable = any(layout.column(name).type.nullable for name in layout.primary_key)
    found = {STORED + name: name for name in layout.primary_key} if is_nullable else {}
    return {} if any(layout.has_column(name) for name in (*found, _BUCKET.name)) else found


def _all_stored(layout: TableLayout) -> dict[str, str]:
    return stored_keys(layout) | stored_sequences(layout)


def _stored(layout: TableLayout, name: str) -> RowMetadata:
    column = layout.column(name)
    field = pa.field(STORED + name, column.arrow_field.type)
    return RowMetadata(field, to_spark(column.type), f"the stored value of {name}")


def divided(layout: TableLayout, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The table's own of these columns, and the metadata columns behind them."""
    ours = {column.name for column in metadata_columns(layout)}
    return (
        tuple(name for name in names if name not in ours),
        tuple(name for name in names if name in ours),
    )


def fields(layout: TableLayout, names: Sequence[str]) -> list[pa.Field]:
    """The Arrow fields of metadata columns."""
    found = {column.name: column.field for column in metadata_columns(layout)}
    return [found[name] for name in names]


def needs_number(scan: ScanSpec) -> bool:
    """Whether the scan needs the sequence number of every row."""
    return _NUMBER.name in scan.metadata


def needs_origin(scan: ScanSpec) -> bool:
    """Whether the scan needs the file of every row."""
    return _FILE.name in scan.metadata or _LEVEL.name in scan.metadata


@dataclass(frozen=True)
class Provenance:
    """The metadata columns of one split; `names` and `levels` are those of its files."""

    scan: ScanSpec
    bucket: int
    names: pa.Array
    levels: pa.Array

    @staticmethod
    def of(scan: ScanSpec, split: Split) -> Provenance | None:
        """Metadata columns of a split; None if the scan asks for none."""
        if not scan.metadata:
            return None
        names = pa.array([f"{split.path}/{file.name}" for file in split.files], pa.string())
        levels = pa.array([file.level for file in split.files], pa.int32())
        return Provenance(scan, split.bucket, names, levels)

    def attached(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The scan's columns of a batch of rows, which holds what the metadata are made of."""
        own = [batch.column(name) for name in self.scan.columns]
        added = [self._column(name, batch) for name in self.scan.metadata]
        metadata = fields(self.scan.layout, self.scan.metadata)
        schema = pa.schema([*(batch.schema.field(name) for name in self.scan.columns), *metadata])
        return pa.RecordBatch.from_arrays([*own, *added], schema=schema)

    def _column(self, name: str, batch: pa.RecordBatch) -> pa.Array:
        if name == _BUCKET.name:
            return pa.array(np.full(batch.num_rows, self.bucket, dtype=np.int32))
        if name == _NUMBER.name:
            return batch.column(SEQUENCE)
        stored = _all_stored(self.scan.layout)
        if name in stored:
            return batch.column(stored[name])
        values = self.names if name == _FILE.name else self.levels
        return values.take(batch.column(ORIGIN))
