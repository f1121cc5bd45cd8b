"""One Parquet file as record batches of table columns, decoded on the calling thread.

The value column of a key is read, never its `_KEY_` copy, so thin files read alike. `_VALUE_KIND`
is read only if its statistics allow a -U or -D (the delete count of a manifest can't be trusted
for that). Row groups whose keys a filter excludes are not decoded. If some columns decide which
rows are needed, the others are decoded once a row of their row group is needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.errors import CorruptDataError
from keyfold.files import damage
from keyfold.files.chunks import Chunks
from keyfold.files.column_mapping import StoredColumn, sources
from keyfold.files.cost import buffer_size, chunk_bytes, row_bytes, stored_bytes
from keyfold.files.fetch import fetched
from keyfold.files.footers import TAIL, Footer, footer_and_whole
from keyfold.files.leaves import Leaves, leaves_of
from keyfold.files.pages import LEAST_CHUNK, checked
from keyfold.files.vectors import deleted
from keyfold.lazy import cached_property
from keyfold.merge.deferred import Deferred
from keyfold.merge.marks.mark_columns import FIELDS as MARKS
from keyfold.predicates.ranges import ValueRange
from keyfold.predicates.statistics import may_hold_deletes, ranges_of
from keyfold.read.formats.table_columns import adapted, common_number, schema_of
from keyfold.read.formats.wanted import Wanted
from keyfold.read.positions import numbered, without
from keyfold.resources.metering import count, is_asked, metered
from keyfold.stores.files import Files
from keyfold.stores.local import LocalFiles
from keyfold.wire.specs import KIND, SEQUENCE, DataFile, ScanSpec

BYTES_READ = "bytes_read"  # a figure, where a question asks for it
_FEW_ROWS = 1 << 10  # of a small file: setting up a step costs more than these rows
MOST_AT_ONCE = 16  # row groups decoded whole until the need for that is checked again


def read_parquet(
    scan: ScanSpec, store: Files, path: str, file: DataFile, wanted: Wanted
) -> Iterator[pa.RecordBatch | Deferred]:
    """Batches as `read_file` describes them."""
    footer, content = footer_and_whole(store, path, file.size)
    if footer.metadata.num_rows != file.rows:
        found_rows = footer.metadata.num_rows
        raise damage.data_file(path, f"expected {file.rows} rows, found {found_rows}")
    found = sources(scan, file.schema_id, wanted.columns)
    system = [SEQUENCE] if wanted.sequence else []
    with damage.decoding(path, is_remote=not store.is_local):
        leaves = leaves_of(footer.metadata)
        groups = groups_of_interest(footer, leaves, scan, file, wanted)
        if wanted.kinds or may_hold_deletes(footer.metadata, leaves, groups):
            system.append(KIND)
        system += [field.name for field in MARKS] if file.is_marked else []
        names = {path for source in found for path in source.paths(footer.metadata)} | {*system}
        # Nobody closes the file: rows may be decoded for as long as something refers to them.
        buffered, by_arrow = 0, scan.verify
        size = buffer_size(footer.metadata, groups, names, wanted.batch_bytes)
        if content is not None:
            source = pa.BufferReader(content)
        elif store.is_local:
            assert isinstance(store, LocalFiles)
            with damage.present(path):
                source = store.open(path)
            buffered = size
        else:
            source = fetched(
                store, path, file.size, footer.metadata, groups, names, wanted.batch_bytes
            )
        is_small = file.rows <= _FEW_ROWS and file.size <= TAIL
        chunks = None
        if not size and not is_small:
            chunks = Chunks(source, path, footer.metadata, leaves, scan.verify)
        is_checked = is_small or (store.is_local and _has_large(footer, groups, names))
        if scan.verify and not size and is_checked:
            source, by_arrow = checked(source, path), False
        parquet = _opened(source, footer.metadata, buffered, by_arrow=by_arrow)
        widths = [row_bytes(footer.metadata, group, names) for group in groups]
    rows = max(1, min(wanted.batch_rows, int(wanted.batch_bytes / max(widths, default=1.0))))
    decide = wanted.columns if wanted.decide is None or is_small else wanted.decide
    later = _of(found, decide, False)
    rows = _even(footer.metadata, groups, rows) if later else rows
    opened = _Opened(path, not store.is_local, parquet, chunks, rows)
    first = _Columns(opened, _of(found, decide, True), system, common_number(file))
    batches = first.batches(groups)
    if later:
        whole = _Columns(opened, found, system, first.number)
        batches = _deferred(first, _Columns(opened, later, (), None), whole, groups)
    if wanted.positions or file.vector is not None:
        every = map(footer.metadata.row_group, range(footer.metadata.num_row_groups))
        counts = [group.num_rows for group in every]
        batches = numbered(batches, counts, groups) if wanted.positions else batches
        gone = deleted(store, scan.layout, path, file)
        batches = without(gone, batches, counts, groups) if len(gone) else batches
    yield from batches


@dataclass(frozen=True)
class _Opened:
    """An open file, and the number of rows of its batches, one for all who read it. pyarrow keeps
    that number with the file, and a new one would change reads that have begun. `chunks` are given
    if row groups are small enough to be decoded whole.
    """

    path: str
    is_remote: bool
    file: pq.ParquetFile
    chunks: Chunks | None
    rows: int


def _even(metadata: pq.FileMetaData, groups: Sequence[int], rows: int) -> int:
    """The rows of a batch, about as many as asked for, such that no small batch is left at the end
    of a large row group.
    """
    count = max((metadata.row_group(group).num_rows for group in groups), default=0)
    return max(1, -(-count // max(1, round(count / rows))))


def _has_large(footer: Footer, groups: Sequence[int], names: Collection[str]) -> bool:
    """Whether column chunks are so large that their pages are better checked here."""
    return any(chunk_bytes(footer.metadata, group, names) >= LEAST_CHUNK for group in groups[:1])


def _opened(
    source: pa.NativeFile, metadata: pq.FileMetaData, buffered: int, *, by_arrow: bool
) -> pq.ParquetFile:
    """The file, read `buffered` bytes at a time, or by the chunk if that is 0. If `by_arrow`,
    pyarrow checks its pages.
    """
    return pq.ParquetFile(
        source,
        metadata=metadata,
        pre_buffer=False,
        buffer_size=buffered,
        coerce_int96_timestamp_unit="us",
        page_checksum_verification=by_arrow,
    )


def _of(
    found: Sequence[StoredColumn], names: Collection[str], belongs: bool
) -> tuple[StoredColumn, ...]:
    return tuple(source for source in found if (source.target.name in names) == belongs)


def _deferred(
    first: _Columns, rest: _Columns, whole: _Columns, groups: Sequence[int]
) -> Iterator[pa.RecordBatch | Deferred]:
    """Batches of row groups, deferred. If the last two deferred row groups were needed after all,
    the next ones are decoded whole, at once; each time this proves right, twice as many.
    """
    needed = at_once = 0
    later: _Later | None = None
    for group in groups:
        if later is not None:
            needed = needed + 1 if later.is_read else 0
            later, at_once = None, min(2**needed // 4, MOST_AT_ONCE)
        if at_once:
            at_once -= 1
            yield from whole.batches([group])
            continue
        later, width = _Later(rest, group), rest.row_bytes(group)
        for place, batch in enumerate(first.batches([group])):
            yield Deferred(batch, partial(later.batch, place), width)


class _Columns:
    """Some columns of an open file."""

    def __init__(
        self,
        opened: _Opened,
        found: tuple[StoredColumn, ...],
        system: Sequence[str],
        number: int | None,
    ) -> None:
        self._path, self._is_remote = opened.path, opened.is_remote
        self._file, self._chunks, self.batch_rows = opened.file, opened.chunks, opened.rows
        self.found = found
        self.number = number
        self._schema = schema_of(found, system)
        metadata, there = opened.file.metadata, [one for one in found if one.stored is not None]
        paths = {source.name: source.paths(metadata) for source in there}
        paths |= {name: [name] for name in system if name != SEQUENCE or number is None}
        names = list(paths)
        # A file that lacks every wanted column still gives the number of rows. Files of tables
        # without a key have no system columns.
        stored = [] if names else opened.file.schema_arrow.names
        self._names = names or ([SEQUENCE] if SEQUENCE in stored else stored[:1])
        self._paths = {name: paths.get(name, [name]) for name in self._names}
        # Most files have the table's types, and in wide rows a step for each column costs time.
        same = all(source.stored == source.target.type for source in found)
        self._is_plain = same and len(names) == len(self._schema) > 0

    @cached_property
    def _kinds(self) -> dict[str, pa.DataType]:
        kinds = self._file.schema_arrow
        return {name: kinds.field(name).type for name in self._names}

    def batches(self, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The rows of some row groups, `batch_rows` in each batch except the last."""
        if is_asked(BYTES_READ):
            metadata, paths = self._file.metadata, set(self._leaves(self._names))
            count(BYTES_READ, sum(stored_bytes(metadata, group, paths) for group in groups))
        decoded = self._decoded(groups)
        while True:
            with damage.decoding(self._path, is_remote=self._is_remote):
                batch = next(decoded, None)
            if batch is None:
                return
            yield batch

    def _decoded(self, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Raises CorruptDataError if rows are missing. Arrow passes over a page whose kind it does
        not know, and no checksum covers the kind.
        """
        left = sum(map(self.rows, groups))
        for batch in self._stored(groups):
            left -= batch.num_rows
            chosen = batch.select(self._names) if self._is_plain else None
            if chosen is not None and chosen.schema.types == self._schema.types:
                yield pa.RecordBatch.from_arrays(chosen.columns, schema=self._schema)
            else:
                yield adapted(batch, self.found, self._schema, self.number)
        if left:
            raise self.lacking(left)

    def _stored(self, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        if self._chunks is not None and max(map(self.rows, groups), default=0) <= self.batch_rows:
            return map(partial(self._whole, self._chunks), groups)
        found: Iterator[pa.RecordBatch] = self._file.iter_batches(
            batch_size=self.batch_rows,
            row_groups=groups,
            columns=self._leaves(self._names),
            use_threads=False,
        )
        return found

    def _leaves(self, names: Sequence[str]) -> list[str]:
        """Leaf paths of some columns, as pyarrow names them."""
        return [path for name in names for path in self._paths[name]]

    def _whole(self, chunks: Chunks, group: int) -> pa.RecordBatch:
        """The rows of a row group. pyarrow decodes the columns that `chunks` leave to it."""
        rows = self.rows(group)
        found = {name: chunks.column(group, name, kind) for name, kind in self._kinds.items()}
        others = [name for name, column in found.items() if column is None]
        if others:
            leaves = self._leaves(others)
            table = self._file.read_row_group(group, columns=leaves, use_threads=False)
            found |= {name: table[name].combine_chunks() for name in others}
        columns: list[pa.Array] = [*found.values()]
        short = min(map(len, columns))
        if short < rows:
            raise self.lacking(rows - short)
        return pa.RecordBatch.from_arrays(columns, names=self._names)

    def lacking(self, rows: int) -> CorruptDataError:
        """The error: the file's pages lack this number of its rows."""
        return damage.data_file(self._path, f"{rows} rows are missing in its pages")

    def rows(self, group: int) -> int:
        """The number of rows of a row group."""
        return int(self._file.metadata.row_group(group).num_rows)

    def row_bytes(self, group: int) -> float:
        """The bytes, roughly, of a decoded row of a row group."""
        return row_bytes(self._file.metadata, group, set(self._leaves(self._names)))


class _Later:
    """The columns of one row group that don't decide."""

    def __init__(self, columns: _Columns, group: int) -> None:
        self._columns = columns
        self._group = group
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._next = 0
        self.is_read = False

    def batch(self, place: int) -> pa.RecordBatch:
        """The rows of the batch at this place; each is decoded once if asked for in order."""
        self.is_read = True
        with metered("decode"):
            if place < self._next or not self._next:
                self._batches, self._next = self._columns.batches([self._group]), 0
            batch = next(itertools.islice(self._batches, place - self._next, None))
            self._next = place + 1
            most = self._columns.batch_rows
            left = self._columns.rows(self._group) - place * most
            if left <= most:
                self._batches = iter(())  # frees the memory of the open row group
        if batch.num_rows != min(left, most):
            raise self._columns.lacking(min(left, most) - batch.num_rows)
        return batch


def groups_of_interest(
    footer: Footer,
    leaves: Leaves,
    scan: ScanSpec,
    file: DataFile,
    wanted: Wanted,
) -> list[int]:
    """The row groups that may hold rows of interest."""
    metadata, keep = footer.metadata, wanted.keep
    if wanted.groups is not None:
        return list(wanted.groups)
    everything = range(metadata.num_row_groups)
    if keep is None:
        return list(everything)
    found = sources(scan, file.schema_id, (*scan.layout.key, *wanted.ranges))

    def ranges() -> list[dict[str, ValueRange]]:
        return [ranges_of(metadata.row_group(group), leaves, found) for group in everything]

    known = footer.once(found, ranges)
    return [group for group in everything if keep(known[group])]
