"""Data files as a reader takes them: of stores that are not local, fetched before they are needed.

A request to an object store takes as long as merging thousands of rows. So of each open file the
column chunks of row groups are fetched together, the next ones while these are decoded; all runs of
a merge begin at once, and the next file of a run, or the next section, begins while the one before
it is read. What is fetched and not decoded yet is bounded by the caller's bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files import damage
from keyfold.files.footers import footer_of, is_known
from keyfold.files.positioned import Positioned
from keyfold.stores.files import Files, Span

MOST_TOGETHER = 8 << 20  # bytes of row groups that are fetched at once
_AT_ONCE = 16
Item = TypeVar("Item")
_END = object()
SECTION, RUN, FILE, BYTES = "section", "run", "file", "bytes"


@cache
def _pool(level: str) -> ThreadPoolExecutor:
    """Threads that wait for stores; made by the process that needs them, never before a fork. What
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


def fetch_footers(store: Files, sizes: Mapping[str, int]) -> None:
    """Read the footers of files, of these sizes, that are not known yet, all at once."""
    unknown = [path for path in sizes if not is_known(path)]
    for done in [_pool(BYTES).submit(footer_of, store, path, sizes[path]) for path in unknown]:
        done.result()


def fetched(
    store: Files,
    path: str,
    size: int,
    metadata: pq.FileMetaData,
    groups: Sequence[int],
    names: Collection[str],
    most_bytes: int,
) -> pa.NativeFile:
    """A file whose column chunks are read one by one; those of the named columns in these row
    groups are fetched ahead, unless a row group has more than half of `most_bytes`.
    """
    chunks = [_chunks(metadata.row_group(group), names) for group in groups]
    if not chunks or 2 * max(map(_size, chunks)) > most_bytes:
        chunks = []
    joined = _joined(chunks, min(most_bytes // 2, MOST_TOGETHER))
    return pa.PythonFile(_Fetched(store, path, size, joined, most_bytes), mode="r")


def _chunks(group: pq.RowGroupMetaData, names: Collection[str]) -> list[Span]:
    """Where the chunks of the named columns are."""
    found = (group.column(at) for at in range(group.num_columns))
    return [_span(chunk) for chunk in found if chunk.path_in_schema.split(".")[0] in names]


def _span(chunk: pq.ColumnChunkMetaData) -> Span:
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    return start, start + chunk.total_compressed_size


def _size(spans: Iterable[Span]) -> int:
    return sum(stop - start for start, stop in spans)


def _joined(groups: Iterable[list[Span]], most_bytes: int) -> list[list[Span]]:
    """Row groups that are fetched together; the first alone, so that decoding begins soon."""
    joined: list[list[Span]] = []
    for chunks in groups:
        if len(joined) > 1 and _size(joined[-1]) + _size(chunks) <= most_bytes:
            joined[-1] += chunks
        else:
            joined.append(list(chunks))
    return joined


class _Fetched(Positioned):
    """A file of which lists of spans are fetched in order; reading one begins the next list."""

    def __init__(
        self, store: Files, path: str, size: int, spans: list[list[Span]], most_bytes: int
    ) -> None:
        super().__init__(size)
        self._store, self._path, self._spans, self._most = store, path, spans, most_bytes
        self._places = {
            span: (which, place)
            for which, together in enumerate(spans)
            for place, span in enumerate(together)
        }
        self._fetched: OrderedDict[int, Future[list[pa.Buffer]]] = OrderedDict()
        if spans:
            self._begin(0)

    def _begin(self, which: int) -> Future[list[pa.Buffer]]:
        """Fetch a list of spans, and let the oldest go beyond the bound."""
        if which not in self._fetched:
            self._fetched[which] = _pool(BYTES).submit(self._ranges, self._spans[which])
            while len(self._fetched) > 1 and self._held() > self._most:
                self._fetched.popitem(last=False)
        return self._fetched[which]

    def _held(self) -> int:
        return sum(_size(self._spans[which]) for which in self._fetched)

    def _ranges(self, spans: Sequence[Span]) -> list[pa.Buffer]:
        with damage.present(self._path):
            return self._store.ranges(self._path, spans)

    def piece(self, start: int, stop: int) -> pa.Buffer:
        if (start, stop) not in self._places:
            return self._ranges([(start, stop)])[0]
        which, place = self._places[start, stop]
        found = self._begin(which)
        if which + 1 < len(self._spans):
            self._begin(which + 1)
        return found.result()[place]
