"""Row groups that look-ups have decoded, kept for the next ones within a bound of bytes.

The keys of a row group are kept in the form in which they are compared, its other columns one by
one as they are asked for. Data files never change, so that what is kept stays right for as long as
a snapshot refers to the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files import damage, other_formats
from keyfold.files.column_mapping import sources
from keyfold.files.cost import row_bytes
from keyfold.files.footers import footer_of, has_footer
from keyfold.files.leaves import leaves_of
from keyfold.kernels.keys.comparable import Keys, encode
from keyfold.lazy import cached_property
from keyfold.merge.column_results import combine
from keyfold.merge.marks.mark_columns import FIELDS as MARKS
from keyfold.predicates.statistics import may_hold_deletes
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.read.key_cuts import group_ranges, highest, lowest
from keyfold.read.keyset import KeySet, wrapped
from keyfold.resources.cache import Cache
from keyfold.stores.files import Files
from keyfold.wire.specs import KIND, SEQUENCE, DataFile, ScanSpec

DEFAULT = 512 << 20
_LEAST_KEPT = 8  # row groups of one size that the bound must have room for
_OWN_BYTES = 256  # of an entry, besides its values


class TooLargeError(Exception):
    """A row group is too large to be kept: reading must stream its rows."""


class RowGroupCache:
    """Keys and columns of row groups, for all threads of a process, of at most `most` bytes."""

    def __init__(self, most: int = DEFAULT) -> None:
        self.most_of_group = most // _LEAST_KEPT
        self.cache: Cache[Any] = Cache(most, _weight)


def _weight(found: Keys | pa.Array) -> int:
    if isinstance(found, Keys):
        return found.nbytes + _OWN_BYTES
    return int(found.get_total_buffer_size()) + _OWN_BYTES


@dataclass
class KeptFile:
    """A data file of a bucket, of which row groups are kept."""

    scan: ScanSpec
    store: Files
    directory: str
    file: DataFile
    kept: RowGroupCache
    # A text for each column that has been asked for: what is stored, and what it becomes.
    _tokens: dict[str, str] = field(default_factory=dict)
    _kinds: dict[int, bool] = field(default_factory=dict)  # whether row groups have other than +I

    @cached_property
    def _path(self) -> str:
        return f"{self.directory}/{self.file.name}"

    @property
    def _metadata(self) -> pq.FileMetaData:
        return footer_of(self.store, self._path, self.file.size).metadata

    @cached_property
    def _is_parquet(self) -> bool:
        """Whether it has row groups; a file of another format counts as one."""
        return has_footer(self.file.name)

    def _measure(self, group: int, names: Sequence[str]) -> tuple[int, float]:
        """The rows of a row group, and roughly the bytes of these columns."""
        if not self._is_parquet:
            return self.file.rows, other_formats.decoded_bytes(self.file.size)
        rows = self._metadata.row_group(group).num_rows
        return rows, row_bytes(self._metadata, group, set(names)) * rows

    @cached_property
    def _marks(self) -> tuple[str, ...]:
        return tuple(field.name for field in MARKS) if self.file.is_marked else ()

    @cached_property
    def _place(self) -> tuple[Any, ...]:
        """The file as it is kept: less the rows that its deletion vector marks."""
        return self._path, self.file.vector

    def _token(self, name: str) -> str:
        found = self._tokens.get(name)
        if found is None:
            is_own = name in (SEQUENCE, KIND) or name in self._marks
            found = name if is_own else repr(sources(self.scan, self.file.schema_id, (name,)))
            self._tokens[name] = found
        return found

    @cached_property
    def _ends(self) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """The least and the greatest key of each row group, as far as its statistics show them."""
        key = self.scan.layout.key
        if not self._is_parquet:
            return [((), ())]
        footer = footer_of(self.store, self._path, self.file.size)
        with damage.decoding(self._path):
            known = group_ranges(footer, sources(self.scan, self.file.schema_id, key))
        return [(wrapped(lowest(r, key)), wrapped(highest(r, key))) for r in known]

    def groups(self, wanted: KeySet) -> Iterator[int]:
        """The row groups that may hold one of the keys, in their order."""
        most, ends = len(wanted.names), self._ends
        place, stop = 0, len(ends)
        while place < stop:  # by halves to the first group that reaches the first key
            middle = (place + stop) // 2
            last = ends[middle][1][:most]
            is_reached = wanted.values[0][: len(last)] <= last
            place, stop = (place, middle) if is_reached else (middle + 1, stop)
        for group in range(place, len(ends)):
            first, last = (end[:most] for end in ends[group])
            if wanted.values[-1][: len(first)] < first:
                return
            if wanted.reaches(first, last):
                yield group

    def keys(self, group: int, names: Sequence[str]) -> Keys:
        """The keys of a row group, by the leading columns `names` of the key."""
        place = (*self._place, group, len(names), *map(self._token, names))
        found: Keys | None = self.kept.cache.get(place)
        if found is None:
            columns = self._read(group, names)
            found = encode(columns, self.scan.layout.nullable_key[: len(names)])
            self.kept.cache.put(place, found)
        return found

    def system(self, group: int, *, numbered: bool) -> tuple[str, ...]:
        """The system columns that a merge needs of a row group."""
        has_kinds = self._kinds.get(group)
        if has_kinds is None:
            has_kinds = self._may_hold_deletes(group)
            self._kinds[group] = has_kinds
        names = (SEQUENCE,) if numbered else ()
        return (*names, *((KIND,) if has_kinds else ()), *self._marks)

    def _may_hold_deletes(self, group: int) -> bool:
        if not self._is_parquet:
            return True
        metadata = self._metadata
        return may_hold_deletes(metadata, leaves_of(metadata), [group])

    def columns(self, group: int, names: Sequence[str]) -> list[pa.Array]:
        """Columns of a row group by name, system columns among them."""
        cache = self.kept.cache
        places = [(*self._place, group, self._token(name)) for name in names]
        found = [cache.get(place) for place in places]
        lacking = [at for at, column in enumerate(found) if column is None]
        if lacking:
            read = self._read(group, [names[at] for at in lacking])
            for at, column in zip(lacking, read, strict=True):
                cache.put(places[at], column)
                found[at] = column
        return found

    def _read(self, group: int, names: Sequence[str]) -> list[pa.Array]:
        rows, size = self._measure(group, names)
        own = {SEQUENCE, KIND, *self._marks}
        if size > self.kept.most_of_group:
            raise TooLargeError
        wanted = Wanted(
            tuple(name for name in names if name not in own),
            sequence=SEQUENCE in names,
            kinds=KIND in names,
            groups=(group,),
            batch_rows=max(rows, 1),
            batch_bytes=self.kept.most_of_group,
        )
        batches = list(read_file(self.scan, self.store, self.directory, self.file, wanted))
        return [combine([batch.column(name) for batch in batches]) for name in names]
