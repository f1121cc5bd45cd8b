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
from keyfold.read.footers import Footer, footer_of
from keyfold.read.mapping import Source, adapt, sources
from keyfold.read.predicates import Range, Ranges
from keyfold.read.sieve import Sieve
from keyfold.read.statistics import leaf_positions, may_retract, ranges_of

BATCH_ROWS = 1 << 16
MOST_PROBED = 8
SYSTEM = (pa.field(SEQUENCE, pa.int64(), False), pa.field(KIND, pa.int8(), False), *MARKS)


@dataclass(frozen=True)
class Wanted:
    """What to read of each file: table columns, and whether `_SEQUENCE_NUMBER` belongs to them, or
    the marks of partial writes even where the file has none.

    `keep` says of the ranges of a row group, of key columns and of the columns `ranges`, whether
    it may hold rows of interest; `keys` lets rows through by their keys.
    """

    columns: tuple[str, ...]
    sequence: bool = False
    marks: bool = False
    keep: Callable[[Ranges], bool] | None = None
    keys: Sieve | None = None
    ranges: tuple[str, ...] = ()


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
            footer = footer_of(path, source)
            opened = pq.ParquetFile(
                source,
                metadata=footer.metadata,
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",
                page_checksum_verification=False,
            )
        except pa.ArrowInvalid as error:
            raise CorruptDataError(f"data file {path} is not a Parquet file: {error}") from error
        found = sources(scan, file.schema_id, wanted.columns)
        leaves = leaf_positions(opened.metadata)
        groups = _groups(footer, leaves, scan, file, wanted)
        if wanted.keys is not None and wanted.keys.predicates and len(groups) <= MOST_PROBED:
            held = sources(scan, file.schema_id, wanted.keys.columns)
            groups = [group for group in groups if _holds_any(opened, group, held, wanted.keys)]
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


def _groups(
    footer: Footer,
    leaves: Mapping[str, int],
    scan: ScanSpec,
    file: DataFile,
    wanted: Wanted,
) -> list[int]:
    """The row groups that may hold rows of interest."""
    metadata, keep = footer.metadata, wanted.keep
    everything = range(metadata.num_row_groups)
    if keep is None:
        return list(everything)
    found = sources(scan, file.schema_id, (*scan.layout.key, *wanted.ranges))

    def ranges() -> list[dict[str, Range]]:
        return [ranges_of(metadata.row_group(group), leaves, found) for group in everything]

    known = footer.once(found, ranges)
    return [group for group in everything if keep(known[group])]


def _holds_any(opened: pq.ParquetFile, group: int, held: Sequence[Source], keys: Sieve) -> bool:
    """Whether a row group has a key that passes: its key columns are decoded alone, a fraction of
    what its rows cost.
    """
    names = [source.name for source in held if source.stored is not None]
    if not names:
        return True
    schema = _schema(held, [])
    batches = opened.iter_batches(
        batch_size=BATCH_ROWS, row_groups=[group], columns=names, use_threads=False
    )
    return any(keys.kept(_adapted(batch, held, schema, None)).num_rows for batch in batches)


def _may_hold_deletes(
    metadata: pq.FileMetaData, leaves: Mapping[str, int], groups: Sequence[int]
) -> bool:
    place = leaves.get(KIND)
    if place is None:
        return False
    return any(may_retract(metadata.row_group(group).column(place)) for group in groups)


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
