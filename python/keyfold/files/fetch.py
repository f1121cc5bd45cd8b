"""Files of stores that are not local: fetched before they are needed, in few large requests.

A request to an object store takes as long as merging thousands of rows. So of each open file the
column chunks of a row group are fetched together, those of the next one while this one is decoded;
all runs of a merge begin at once, and the next file of a run, or the next section, begins while
the one before it is read. What is fetched and not decoded yet is bounded by the caller's bytes.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files.data_files import Store, open_input
from keyfold.files.footers import footer_of, is_known
from keyfold.files.positioned import Positioned

GAP = 1 << 20  # bytes between two chunks that are fetched rather than asked for twice
_AT_ONCE = 16
Item = TypeVar("Item")
Span = tuple[int, int]
_END = object()
SECTION, RUN, FILE, BYTES = "section", "run", "file", "bytes"


@cache
def _pool(level: str) -> ThreadPoolExecutor:
    """Threads that wait for stores; made by the process that needs them, never before a fork. Who
    runs in one level waits for lower ones only: SECTION, RUN, FILE, BYTES.
    """
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix=f"fetch-{level}")


def begun(items: Iterator[Item], level: str) -> Iterator[Item]:
    """The same items; making the first begins now, in another thread."""

    def make() -> object:
        return next(items, _END)

    first: Future[object] = _pool(level).submit(copy_context().run, make)

    def rest() -> Iterator[Item]:
        found = first.result()
        if found is not _END:
            yield found  # type: ignore[misc]
            yield from items

    return rest()


def one_ahead(makers: Iterable[Iterator[Item]], level: str) -> Iterator[Item]:
    """The items of all iterators, one after another; each begins when the one before it does."""
    waiting = iter(makers)
    following = next(waiting, None)
    while following is not None:
        current, found = following, next(waiting, None)
        following = None if found is None else begun(found, level)
        yield from current


def fetch_footers(store: Store, sizes: Mapping[str, int]) -> None:
    """Read the footers of files, of these sizes, that are not known yet, all at once."""

    def footer(path: str) -> None:
        with open_input(store, path) as source:
            footer_of(path, source, sizes[path])

    unknown = [path for path in sizes if not is_known(path)]
    for done in [_pool(BYTES).submit(footer, path) for path in unknown]:
        done.result()


def ahead(
    source: pa.NativeFile,
    metadata: pq.FileMetaData,
    groups: Sequence[int],
    names: Collection[str],
    most_bytes: int,
) -> pa.NativeFile:
    """The file, with the chunks of the named columns in these row groups fetched ahead; as it is
    where one row group has more than half of `most_bytes`.
    """
    spans = list(itertools.chain.from_iterable(_spans(metadata, g, names) for g in groups))
    if not spans or 2 * max(stop - start for start, stop in spans) > most_bytes:
        return source
    return pa.PythonFile(_Ahead(source, spans, most_bytes), mode="r")


def _spans(metadata: pq.FileMetaData, group: int, names: Collection[str]) -> list[Span]:
    """What to ask for to have the chunks of one row group."""
    found = metadata.row_group(group)
    joined: list[Span] = []
    for chunk in sorted(_chunk(found.column(at)) for at in _wanted(found, names)):
        if joined and chunk[0] - joined[-1][1] <= GAP:
            joined[-1] = joined[-1][0], max(joined[-1][1], chunk[1])
        else:
            joined.append(chunk)
    return joined


def _wanted(group: pq.RowGroupMetaData, names: Collection[str]) -> list[int]:
    paths = (group.column(at).path_in_schema for at in range(group.num_columns))
    return [at for at, path in enumerate(paths) if path.split(".")[0] in names]


def _chunk(chunk: pq.ColumnChunkMetaData) -> Span:
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    return start, start + chunk.total_compressed_size


class _Ahead(Positioned):
    """A file whose spans are asked for in order; a read inside one begins the fetch of the next."""

    def __init__(self, source: pa.NativeFile, spans: list[Span], most_bytes: int) -> None:
        super().__init__(source)
        self._spans = spans
        self._most = most_bytes
        self._fetched: OrderedDict[int, Future[bytes]] = OrderedDict()
        self._begin(0)

    def _begin(self, place: int) -> None:
        """Fetch a span, and let the oldest go beyond the bound."""
        if place >= len(self._spans) or place in self._fetched:
            return
        start, stop = self._spans[place]
        self._fetched[place] = _pool(BYTES).submit(self._source.read_at, stop - start, start)
        while len(self._fetched) > 1 and sum(map(self._length, self._fetched)) > self._most:
            self._fetched.popitem(last=False)

    def _length(self, place: int) -> int:
        start, stop = self._spans[place]
        return stop - start

    def piece(self, size: int) -> bytes:
        stop = self._at + size
        for place, (first, last) in enumerate(self._spans):
            if first <= self._at and stop <= last and place in self._fetched:
                found = self._fetched[place].result()
                self._begin(place + 1)
                return found[self._at - first : stop - first]
            if first <= self._at and stop <= last:
                self._begin(place)
                return self.piece(size)
        found = self._source.read_at(size, self._at)
        return bytes(found)
