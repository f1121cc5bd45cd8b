"""One data file as record batches of table columns, decoded on the calling thread.

The value column of a key is read, never its `_KEY_` copy, so thin files read alike. `_VALUE_KIND`
is read only where its statistics allow a -U or -D (the delete count of a manifest can't be trusted
for that), and row groups whose keys a filter excludes are not decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from keyfold import types
from keyfold.errors import CorruptDataError
from keyfold.journey import KIND, SEQUENCE, DataFile, ScanSpec
from keyfold.merge.marks import FIELDS as MARKS
from keyfold.read.files import Store, open_input
from keyfold.read.mapping import Source, adapt, sources
from keyfold.read.predicates import Range, Ranges
from keyfold.types import Atomic

BATCH_ROWS = 1 << 16
SYSTEM = (pa.field(SEQUENCE, pa.int64(), False), pa.field(KIND, pa.int8(), False), *MARKS)
_INSERT, _UPDATE_AFTER = 0, 2


@dataclass(frozen=True)
class Wanted:
    """What to read of each file: table columns, and whether `_SEQUENCE_NUMBER` belongs to them, or
    the marks of partial writes even where the file has none.

    `keep` says of the key ranges of a row group whether it may hold rows of interest.
    """

    columns: tuple[str, ...]
    sequence: bool = False
    marks: bool = False
    keep: Callable[[Ranges], bool] | None = None


def read_file(
    scan: ScanSpec, store: Store, directory: str, file: DataFile, wanted: Wanted
) -> Iterator[pa.RecordBatch]:
    """Batches of `wanted.columns` in table types, then `_SEQUENCE_NUMBER` if wanted, then
    `_VALUE_KIND` (int8) if the file may hold -U or -D, then `_NAMED` and `_OVERWRITTEN` if it has
    them. At most 64 Ki rows each.
    """
    path = f"{directory}/{file.name}"
    with open_input(store, path) as source:
        try:
            opened = pq.ParquetFile(
                source,
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",
                page_checksum_verification=False,
            )
        except pa.ArrowInvalid as error:
            raise CorruptDataError(f"data file {path} is not a Parquet file: {error}") from error
        found = sources(scan, file.schema_id, wanted.columns)
        leaves = leaf_positions(opened.metadata)
        groups = _groups(opened.metadata, leaves, scan, file, wanted)
        system = [SEQUENCE] if wanted.sequence else []
        if _may_hold_deletes(opened.metadata, leaves, groups):
            system.append(KIND)
        system += [field.name for field in MARKS] if file.is_marked else []
        number = _common_number(file)
        names = [source.name for source in found if source.stored is not None]
        names += [name for name in system if name != SEQUENCE or number is None]
        # A file that lacks every wanted column still says how many rows there are.
        batches = opened.iter_batches(
            batch_size=BATCH_ROWS, row_groups=groups, columns=names or [SEQUENCE], use_threads=False
        )
        schema = _schema(found, system)
        for batch in batches:
            adapted = _adapted(batch, found, schema, number)
            yield _with_marks(adapted) if wanted.marks and not file.is_marked else adapted


def leaf_positions(metadata: pq.FileMetaData) -> dict[str, int]:
    """Positions of top-level atomic columns; `a.b` is a column of that name, never a field."""
    leaves = enumerate(metadata.schema.column(place) for place in range(len(metadata.schema)))
    return {leaf.path: place for place, leaf in leaves if leaf.path == leaf.name}


def _groups(
    metadata: pq.FileMetaData,
    leaves: Mapping[str, int],
    scan: ScanSpec,
    file: DataFile,
    wanted: Wanted,
) -> list[int]:
    """The row groups that may hold rows of interest."""
    everything = list(range(metadata.num_row_groups))
    if wanted.keep is None:
        return everything
    keys = sources(scan, file.schema_id, scan.layout.key)
    return [g for g in everything if wanted.keep(_key_ranges(metadata.row_group(g), leaves, keys))]


def _key_ranges(
    group: pq.RowGroupMetaData, leaves: Mapping[str, int], keys: Sequence[Source]
) -> dict[str, Range]:
    """Ranges of the key columns of a row group that statistics give exactly."""
    found = {}
    for key in keys:
        target = key.target.type
        if key.name not in leaves or not isinstance(target, Atomic) or key.stored != target:
            continue
        bounds = manifest_bounds(group.column(leaves[key.name]), target)
        if bounds is not None:
            may_hold_null = target.nullable and _may_hold_null(group.column(leaves[key.name]))
            found[key.target.name] = Range(target, *bounds, may_hold_null)
    return found


def _may_hold_null(chunk: pq.ColumnChunkMetaData) -> bool:
    statistics = chunk.statistics
    return not statistics.has_null_count or statistics.null_count > 0


def manifest_bounds(
    chunk: pq.ColumnChunkMetaData, data_type: Atomic
) -> tuple[object, object] | None:
    """Least and greatest value as manifests hold them; None where statistics don't say."""
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return None
    low, high = (_value(raw, data_type) for raw in (statistics.min_raw, statistics.max_raw))
    return None if low is None or high is None else (low, high)


def _value(raw: object, data_type: Atomic) -> object:
    """A physical value as manifests hold it; None for the types whose statistics are left alone."""
    if data_type.name in ("STRING", "VARCHAR") and isinstance(raw, bytes):
        return raw.decode()
    if data_type.name in ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "BOOLEAN"):
        return raw
    is_micros = data_type.name.startswith("TIMESTAMP") and (data_type.length or 0) > 3
    return raw if is_micros and isinstance(raw, int) else None


def _may_hold_deletes(
    metadata: pq.FileMetaData, leaves: Mapping[str, int], groups: Sequence[int]
) -> bool:
    place = leaves.get(KIND)
    if place is None:
        return False
    return any(_may_retract(metadata.row_group(group).column(place)) for group in groups)


def _may_retract(chunk: pq.ColumnChunkMetaData) -> bool:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return True
    low, high = statistics.min_raw, statistics.max_raw
    return not (high == _INSERT or (low == _UPDATE_AFTER and high == _UPDATE_AFTER))


def _schema(found: Sequence[Source], system: Sequence[str]) -> pa.Schema:
    fields = [source.target.arrow_field for source in found]
    own = {field.name: field for field in SYSTEM}
    return pa.schema([*fields, *(own[name] for name in system)])


def _with_marks(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with marks that are all null."""
    nulls = [pa.nulls(batch.num_rows, field.type) for field in MARKS]
    fields = [*batch.schema, *MARKS]
    return pa.RecordBatch.from_arrays([*batch.columns, *nulls], schema=pa.schema(fields))


def _common_number(file: DataFile) -> int | None:
    """The sequence number of every row, where the manifest gives one: it counts even if the file
    says another (a file that was stamped with its snapshot).
    """
    return file.min_sequence if file.min_sequence == file.max_sequence else None


def _adapted(
    batch: pa.RecordBatch, found: Sequence[Source], schema: pa.Schema, number: int | None
) -> pa.RecordBatch:
    arrays = [_array(batch, source) for source in found]
    for field in list(schema)[len(found) :]:
        if field.name == SEQUENCE and number is not None:
            arrays.append(pa.array(np.full(batch.num_rows, number, dtype=np.int64)))
        else:
            arrays.append(batch.column(field.name).cast(field.type))
    if not arrays:
        return batch.select([])
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(batch: pa.RecordBatch, source: Source) -> pa.Array:
    if source.stored is None:
        return pa.nulls(batch.num_rows, types.to_arrow(source.target.type))
    return adapt(batch.column(source.name), source.stored, source.target.type)
