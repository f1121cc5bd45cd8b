"""The indexes of a file, read from beside it or from its manifest entry, and kept.

One that is missing or damaged decides nothing, in every store: the data file may be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from keyfold.files.indexes.file_indexes import (
    HEAD,
    SUFFIX,
    ColumnIndex,
    Spans,
    as_text,
    indexes_of,
    name_and_bytes,
)
from keyfold.resources.cache import Cache
from keyfold.stores.files import Files

Indexes = Mapping[str, ColumnIndex]
MOST_EMBEDDED = 1 << 12  # bytes that travel with each plan
_KEPT_BYTES, _OWN_BYTES = 32 << 20, 1 << 9
_KEPT: Cache[Indexes] = Cache(
    _KEPT_BYTES, lambda found: sum(one.size for one in found.values()) + _OWN_BYTES
)


def index_of(extra_files: Sequence[str], embedded: bytes | None, most: int = MOST_EMBEDDED) -> str:
    """The name of a file's index among those beside it, or the bytes of the one that its entry has
    as text (`as_text`); empty if it has none, or one of more bytes than `most`.
    """
    name = next((name for name in extra_files if name.endswith(SUFFIX)), None)
    is_short = embedded is not None and len(embedded) <= most
    return as_text(name, embedded if is_short else None) or ""


def stored_indexes(store: Files, folder: str, index: str, columns: tuple[str, ...]) -> Indexes:
    """The indexes of columns in what `index_of` names; none if it is missing or damaged."""
    key = folder, index, columns
    found = _KEPT.get(key)
    if found is None:
        found = {}
        name, data = name_and_bytes(index)
        if data is not None:
            found = indexes_of(lambda spans: [data[slice(*span)] for span in spans], columns)
        else:
            with suppress(FileNotFoundError):
                found = indexes_of(_Beside(store, f"{folder}/{name}"), columns)
        _KEPT.put(key, found)
    return found


class _Beside:
    """An index file. Nothing behind its end is asked for: stores answer that in many ways."""

    def __init__(self, store: Files, path: str) -> None:
        self._store, self._path = store, path
        self._tail, self._size = store.tail(path, HEAD)  # the whole of a small index

    def __call__(self, spans: Spans) -> list[bytes]:
        first, size = self._size - self._tail.size, self._size
        within = [(min(start, size), min(stop, size)) for start, stop in spans]
        asked = [span for span in within if span[0] < min(first, span[1])]
        parts = self._store.ranges(self._path, asked) if asked else []
        held = {span: bytes(part) for span, part in zip(asked, parts, strict=True)}
        tail = memoryview(self._tail)
        return [
            held[span] if span in held else bytes(tail[max(span[0] - first, 0) : span[1] - first])
            for span in within
        ]
