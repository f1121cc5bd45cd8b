"""A manifest as columns: what planning and committing ask of every entry is in numbers, names and
keys are bytes, and a file becomes an object where it is handed out.

An entry's record, with all that its writer stored, is made of the entry's own bytes where it is
needed. These are kept as they are in the file, compressed: only names are asked for of all files.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from json.encoder import encode_basestring as quoted
from sys import getsizeof
from typing import Any

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.files import damage
from keyfold.files.indexes.reading import MOST_EMBEDDED
from keyfold.kernels.buffers import Words, bytes_of
from keyfold.lazy import cached_property
from keyfold.resources.cache import Cache
from keyfold.storage.metadata import entry_columns as at
from keyfold.storage.metadata.documents import opened
from keyfold.storage.metadata.entries import LiveFile, Record, RowShapes, identifier
from keyfold.wire.specs import Vector

Numbers = npt.NDArray[Any]
Identifier = tuple[Any, ...]

_OBJECTS = 8 << 10  # bytes of what holds the columns: of many small manifests it is most


@dataclass(frozen=True)
class Made:
    """The files of a manifest that were handed out, by the place of their entry."""

    entries: int
    files: dict[int, LiveFile]


FILES_KEPT = 60_000
_MANIFESTS_KEPT = 1_000  # small commits make small ones, which no newer snapshot needs for long
_LEAST_WEIGHT = FILES_KEPT // _MANIFESTS_KEPT
FILES: Cache[Made] = Cache(FILES_KEPT, lambda made: max(made.entries, _LEAST_WEIGHT))


@dataclass(frozen=True, eq=False)
class ManifestColumns:
    """The entries of one manifest, in their order. `names` are (start, length) in `text`, and the
    first and last of `keys` in the content of the file, where entry i ends at `ends[i]`; `data` are
    the bytes of that file. The entries with `more` have other files, an index or another place,
    which only their records say.
    """

    path: str
    shapes: RowShapes
    schema: Any
    schema_text: bytes
    data: bytes
    ends: Numbers
    is_deleted: Numbers
    numbers: tuple[Numbers, ...]
    lacks_deletes: Numbers
    lacks_source: Numbers
    codes: Numbers
    partitions: tuple[tuple[Any, ...], ...]
    raw_partitions: tuple[bytes, ...]
    text: bytes
    names: Numbers
    keys: tuple[Numbers, Numbers]
    more: Numbers
    identities: Words

    def __len__(self) -> int:
        return len(self.ends)

    @cached_property
    def memory(self) -> int:
        """The bytes of memory that it takes."""
        arrays = [self.ends, self.is_deleted, *self.numbers, self.lacks_deletes, self.lacks_source]
        arrays += [self.codes, self.names, *self.keys, self.more, self.identities]
        held = sum(array.nbytes for array in arrays) + sum(map(getsizeof, self.raw_partitions))
        held += sum(getsizeof(of) + sum(map(getsizeof, of)) for of in self.partitions)
        return _OBJECTS + len(self.data) + len(self.text) + held

    @property
    def bucket(self) -> Numbers:
        """The bucket of each entry."""
        return self.numbers[at.BUCKET]

    @property
    def total_buckets(self) -> Numbers:
        """The number of buckets of each entry's partition."""
        return self.numbers[at.TOTAL]

    @property
    def level(self) -> Numbers:
        """The level of each entry's file."""
        return self.numbers[at.LEVEL]

    @property
    def schema_ids(self) -> Numbers:
        """The schema of each entry's file."""
        return self.numbers[at.SCHEMA]

    @property
    def max_sequence(self) -> Numbers:
        """The greatest sequence number in each entry's file."""
        return self.numbers[at.LAST_SEQUENCE]

    @cached_property
    def highest_added(self) -> int:
        """The greatest sequence number in the files that it adds, -1 if it adds none."""
        found = self.max_sequence[~self.is_deleted]
        return int(found.max()) if len(found) else -1

    @property
    def added(self) -> list[int]:
        """The entries that add a file: a list that is larger than the columns, if all do."""
        found: list[int] = np.flatnonzero(~self.is_deleted).tolist()
        return found

    @property
    def deleted(self) -> list[int]:
        """The entries that take a file away."""
        found: list[int] = np.flatnonzero(self.is_deleted).tolist()
        return found

    def ends_in(self, suffixes: Sequence[str]) -> Numbers:
        """Which names end in one of the suffixes."""
        data, found = bytes_of(pa.py_buffer(self.text)), np.zeros(len(self), dtype=bool)
        ends = self.names[:, 0].astype(np.int64) + self.names[:, 1]
        for suffix in map(str.encode, suffixes):
            others = np.flatnonzero(~found)  # none, mostly, after the first suffix
            places = ends[others, None] - np.arange(len(suffix), 0, -1)
            is_there = data[np.maximum(places, 0)] == np.frombuffer(suffix, dtype=np.uint8)
            found[others] = (self.names[others, 1] >= len(suffix)) & is_there.all(axis=1)
        return found

    def record(self, row: int) -> Record:
        """The entry as its writer stored it. Raises CorruptDataError if its bytes are damaged."""
        try:
            return record_of(self.schema, self.entry(row))
        except MemoryError:
            raise
        except Exception as error:  # anything that Avro's library makes of values of other types
            raise damage.metadata_file("manifest", self.path, repr(error)) from error

    def entry(self, row: int) -> bytes:
        """The entry as it is encoded."""
        start = self.ends.item(row - 1) if row else 0
        return self.view[start : self.ends.item(row)].tobytes()

    def identifier(self, row: int) -> Identifier:
        """The values by which an ADD and a DELETE mean the same file."""
        if self.more[row]:
            return identifier(self.record(row))
        bucket, level = self.numbers[at.BUCKET].item(row), self.numbers[at.LEVEL].item(row)
        raw = self.raw_partitions[self.codes[row]]
        return raw, bucket, level, self.name(row), (), None, None

    def name(self, row: int) -> str:
        """The name of an entry's file."""
        start, size = self.names[row].tolist()
        return self.text[start : start + size].decode()

    def names_at(self, rows: Numbers) -> Iterator[str]:
        """The names of the files of some entries."""
        for start, size in self.names[rows].tolist():
            yield self.text[start : start + size].decode()

    def quoted_names(self, rows: Numbers) -> pa.Array:
        """The names of the files of some entries as JSON, in Arrow, since they are many."""
        starts, sizes = self.names[rows].astype(np.int64).T
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        if len(rows) and (sizes == sizes[0]).all():
            places = (starts[:, None] + np.arange(sizes[0])).ravel()
        else:
            places = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
        found = bytes_of(pa.py_buffer(self.text))[places]
        if (found == ord('"')).any():
            return pa.array(list(map(quoted, self.names_at(rows))))
        parts = [pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(found)]
        return joined('"', pa.StringArray.from_buffers(len(rows), *parts), '"')

    def names_of(self, rows: Iterable[int]) -> Iterable[str]:
        """The names of the files of some entries, and of those beside them that are their own."""
        for row in rows:
            yield self.name(row)
            if self.more[row]:
                yield from self.record(row)["_FILE"]["_EXTRA_FILES"] or ()

    def file(self, row: int) -> LiveFile:
        """The file of an entry, an object of its own."""
        return ListedFile(self, row)

    def files(self, rows: Iterable[int]) -> list[LiveFile]:
        """The files of some entries. Those that were handed out lately are the same objects, with
        what is known of their keys.
        """
        made = FILES.get(self.path)
        if made is None:
            made = Made(len(self), {})
            FILES.put(self.path, made)
        known, found = made.files, []
        for row in rows:
            file = known.get(row)
            if file is None:
                file = known[row] = ListedFile(self, row)
            found.append(file)
        return found

    def bytes(self, spans: Numbers, row: int) -> bytes:
        """The bytes of an entry's span."""
        start = spans.item(row, 0)
        return self.view[start : start + spans.item(row, 1)].tobytes()

    @property
    def view(self) -> memoryview:
        """The content, of which a part is cheap."""
        known: weakref.ref[memoryview] | None = self.__dict__.get("_view")
        found = None if known is None else known()
        return self.see(None) if found is None else found

    @property
    def content(self) -> pa.Buffer:
        """The content for Arrow and numpy."""
        return pa.py_buffer(self.view)

    def see(self, content: memoryview | None) -> memoryview:
        """Keep the content for a while, which is decompressed if nobody has it."""
        found = VIEWS.get(self)
        if found is None:
            found = memoryview(opened(self.data).content) if content is None else content
            VIEWS.put(self, found)
        self.__dict__["_view"] = weakref.ref(found)
        return found


VIEW_BYTES = 64 << 20  # of ten full manifests
# with the columns that they are of, which stay as long: of many small manifests they are most
VIEWS: Cache[memoryview] = Cache(VIEW_BYTES, lambda view: len(view) + _OBJECTS)


class ListedFile(LiveFile):
    """The file of an entry, which looks its fields up in the columns: a plan of everything has a
    million.
    """

    def __init__(self, columns: ManifestColumns, row: int, vector: Vector | None = None) -> None:
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "vector", vector)

    _columns: ManifestColumns
    _row: int

    def marked_by(self, vector: Vector | None) -> LiveFile:
        return self if vector == self.vector else ListedFile(self._columns, self._row, vector)

    @property
    def name(self) -> str:
        return self._columns.name(self._row)

    @property
    def size(self) -> int:
        return self._number(at.SIZE)

    @property
    def rows(self) -> int:
        return self._number(at.ROWS)

    @property
    def delete_rows(self) -> int | None:
        return None if self._columns.lacks_deletes[self._row] else self._number(at.DELETES)

    @property
    def min_sequence(self) -> int:
        return self._number(at.FIRST_SEQUENCE)

    @property
    def max_sequence(self) -> int:
        return self._number(at.LAST_SEQUENCE)

    @property
    def schema_id(self) -> int:
        return self._number(at.SCHEMA)

    @property
    def level(self) -> int:
        return self._number(at.LEVEL)

    @property
    def partition(self) -> tuple[Any, ...]:
        return self._columns.partitions[self._columns.codes.item(self._row)]

    @property
    def bucket(self) -> int:
        return self._number(at.BUCKET)

    @property
    def total_buckets(self) -> int:
        return self._number(at.TOTAL)

    @property
    def source(self) -> int | None:
        return None if self._columns.lacks_source[self._row] else self._number(at.SOURCE)

    @property
    def extra_files(self) -> tuple[str, ...]:
        return tuple(self.file["_EXTRA_FILES"] or ()) if self._columns.more[self._row] else ()

    @property
    def external_path(self) -> str | None:
        return self.file.get("_EXTERNAL_PATH") if self._columns.more[self._row] else None

    @property
    def embedded_index(self) -> bytes | None:
        return super().embedded_index if self._columns.more[self._row] else None

    def index(self, most: int = MOST_EMBEDDED) -> str:
        return super().index(most) if self._columns.more[self._row] else ""

    @property
    def keys(self) -> tuple[bytes, bytes]:
        first, last = self._columns.keys
        return self._columns.bytes(first, self._row), self._columns.bytes(last, self._row)

    @property
    def shapes(self) -> RowShapes:
        return self._columns.shapes

    @property
    def stored(self) -> Callable[[], Record]:
        return partial(self._columns.record, self._row)

    def _number(self, column: int) -> int:
        found: int = self._columns.numbers[column].item(self._row)
        return found


def record_of(schema: Any, data: bytes) -> Record:
    """The record of an entry's bytes."""
    found: Any = fastavro.schemaless_reader(BytesIO(data), schema, None)
    record: Record = found
    return record


def joined(*texts: pa.Array | str) -> pa.Array:
    """The texts of arrays, side by side; a text is between those of all rows."""
    return pc.binary_join_element_wise(*texts, "")


def repeated(columns: Sequence[ManifestColumns], rows: Sequence[Numbers]) -> list[tuple[int, int]]:
    """Entries whose identity another one of these seems to have, as (manifest, row)."""
    numbers = [one.identities[found] for one, found in zip(columns, rows, strict=True)]
    together = np.concatenate([np.empty(0, dtype=np.uint64), *numbers])
    ordered = np.sort(together)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return []
    return [
        (place, row)
        for place, (found, of) in enumerate(zip(rows, numbers, strict=True))
        for row in found[np.isin(of, twice)].tolist()
    ]
