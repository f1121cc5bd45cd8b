"""Data files of stores that are not local, fetched before a reader needs them.

A request to an object store takes as long as merging thousands of rows. So the column chunks of an
open file's row groups are fetched together, and the next ones while these are decoded. All runs of
a merge begin at once. The next file of a run, or the next section, begins while the one before it
is read. The caller's bytes bound what is fetched and not decoded yet.
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
from keyfold.files.footers import footer_of, has_footer, is_known
from keyfold.files.leaves import chunks_of, span_of
from keyfold.files.positioned import Positioned
from keyfold.stores.files import Files, Span

MOST_TOGETHER = 8 << 20  # bytes of row groups that are fetched at once
AT_ONCE = 16
Item = TypeVar("Item")
_END = object()
SECTION, RUN, FILE, BYTES = "section", "run", "file", "bytes"


@cache
def _pool(level: str) -> ThreadPoolExecutor:
    """Threads that wait for stores. The process that needs them makes them, never before a fork.
    A thread of one level waits for lower levels only, in this order: SECTION, RUN, FILE, BYTES.
    """
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix=f"fetch-{level}")


def begun(items: Iterator[Item], level: str) -> Iterator[Item]:
    """Pass items on; another thread begins now to make the first."""

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
    """Reads at once, by the size of each file, those footers of Parquet that are not known."""
    unknown = [path for path in sizes if has_footer(path) and not is_known(path)]
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
    """A file whose column chunks are read one by one. The chunks of the named columns in these row
    groups are fetched ahead, unless a row group has more than half of `most_bytes`.
    """
    chunks = [[span_of(c) for c in chunks_of(metadata, group, names)] for group in groups]
    if not chunks or 2 * max(map(_size, chunks)) > most_bytes:
        chunks = []
    joined = _joined(chunks, min(most_bytes // 2, MOST_TOGETHER))
    return pa.PythonFile(_Fetched(store, path, size, joined, most_bytes), mode="r")


def in_ranges(store: Files, path: str, size: int) -> pa.NativeFile:
    """A file of which each range is asked for as it is read."""
    return pa.PythonFile(_Fetched(store, path, size, [], 0), mode="r")


def _size(spans: Iterable[Span]) -> int:
    return sum(stop - start for start, stop in spans)


def _joined(groups: Iterable[list[Span]], most_bytes: int) -> list[list[Span]]:
    """Row groups that are fetched together; the first is alone, so that decoding begins soon."""
    joined: list[list[Span]] = []
    for chunks in groups:
        if len(joined) > 1 and _size(joined[-1]) + _size(chunks) <= most_bytes:
            joined[-1] += chunks
        else:
            joined.append(list(chunks))
    return joined


class _Fetched(Positioned):
    """A file whose lists of spans are fetched in order; reading one begins the next list."""

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
        """Fetches a list of spans; drops the oldest ones while more than the bound is held."""
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
