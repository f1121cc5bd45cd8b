"""Files that hold none of some keys, as the indexes say that other writers made of them.

A file without a key has no part in what is merged for the key, so that it need not be opened.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from keyfold.files.column_mapping import StoredColumn, sources
from keyfold.files.file_indexes import SUFFIX, BloomFilter, Spans, filters_of, hash_of
from keyfold.kernels.keys.membership import Flags
from keyfold.lookup.key_places import BucketOfKeys
from keyfold.read.keyset import KeySet
from keyfold.resources.cache import Cache
from keyfold.stores.files import Files
from keyfold.stores.opened import store_of
from keyfold.types.logical import with_nullability
from keyfold.wire.specs import ScanSpec

MOST_KEYS = 64  # of more, most files hold one
_MOST_EMBEDDED = 1 << 12  # bytes that travel with each plan
_EMBEDDED = "="  # before the text of an index that travels
_KEPT_BYTES, _OWN_BYTES = 32 << 20, 1 << 9
_Filters = Mapping[str, BloomFilter]
_KEPT: Cache[_Filters] = Cache(
    _KEPT_BYTES, lambda found: sum(len(one.bits) for one in found.values()) + _OWN_BYTES
)


def index_of(extra_files: Sequence[str], embedded: bytes | None) -> str:
    """The name of a file's index among those beside it, or the bytes of the one that its entry has
    as text behind a sign; empty if it has none.
    """
    for name in extra_files:
        if name.endswith(SUFFIX):
            return name
    if embedded is None or len(embedded) > _MOST_EMBEDDED:
        return ""
    return _EMBEDDED + base64.b64encode(embedded).decode("ascii")


def without_others(scan: ScanSpec, place: BucketOfKeys, wanted: KeySet, flags: Flags) -> Flags:
    """The flags of the files of a bucket, less those whose indexes say that none of the keys is in
    them.
    """
    if not place.indexes or len(wanted) > MOST_KEYS:
        return flags
    store, found = store_of(scan.layout.location, scan.layout.store), flags.copy()
    for at in np.flatnonzero(flags).tolist():
        if place.indexes[at]:
            named = sources(scan, place.files[at].schema_id, wanted.names)
            names = tuple(source.name for source in named)
            filters = _filters(store, place.split.path, place.indexes[at], names)
            found[at] = _may_hold(named, filters, wanted)
    return found


def _may_hold(named: Sequence[StoredColumn], filters: _Filters, wanted: KeySet) -> bool:
    """Whether a file may hold one of the keys; values of a type that it was not written in are not
    asked for.
    """
    checks = []
    for at, source in enumerate(named):
        kind = source.target.type
        made, known = hash_of(kind), filters.get(source.name)
        is_same = (
            source.stored is not None and with_nullability(source.stored, kind.nullable) == kind
        )
        if made is not None and known is not None and is_same:
            checks.append((at, made, known))
    if not checks:
        return True
    return any(
        all(key[at][1] is None or known.may_hold(made(key[at][1])) for at, made, known in checks)
        for key in wanted.values
    )


def _filters(store: Files, folder: str, index: str, columns: tuple[str, ...]) -> _Filters:
    """The filters of columns in an index; none if it is missing: the data file may be there."""
    key = folder, index, columns
    found = _KEPT.get(key)
    if found is None:
        found = {}
        if index.startswith(_EMBEDDED):
            data = base64.b64decode(index.removeprefix(_EMBEDDED))
            found = filters_of(lambda spans: [data[slice(*span)] for span in spans], columns)
        else:
            with suppress(FileNotFoundError):
                found = filters_of(partial(_parts, store, f"{folder}/{index}"), columns)
        _KEPT.put(key, found)
    return found


def _parts(store: Files, path: str, spans: Spans) -> list[bytes]:
    """The bytes of spans of a file, fewer at its end."""
    if not store.is_local:
        return [bytes(part) for part in store.ranges(path, spans)]
    with store.open(path) as file:
        size = file.size()  # a buffer is as large as what it is asked for
        within = [(min(start, size), min(stop, size)) for start, stop in spans]
        return [file.read_at(stop - start, start) for start, stop in within]
