"""The deletion vectors of a snapshot, as its index manifest names them.

An entry has those of a bucket, or of some files of one: of each data file the part of an index file
that is the bitmap of its deleted positions (Paimon's `IndexManifestEntry`). Entries of other kinds
are no concern of readers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keyfold.errors import NotSupportedError
from keyfold.files import damage
from keyfold.resources.cache import Cache
from keyfold.storage.metadata.index_manifests import DELETION_VECTORS, IndexEntry, read_entries
from keyfold.storage.metadata.live_files import Vectors
from keyfold.storage.metadata.manifests import Manifests
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.wire.specs import Vector

_KEPT = 200_000  # vectors of the last few snapshots
_CACHE: Cache[Vectors] = Cache(_KEPT, lambda found: len(found) + 1)


def vectors_of(manifests: Manifests, snapshot: Snapshot, *, anew: bool = False) -> Vectors:
    """The deletion vector of each data file of a snapshot that has one; `anew`: the file is read
    again. Raises CorruptDataError if the index manifest is damaged, NotSupportedError if an index
    file lies outside the table.
    """
    name = snapshot.index_manifest
    if name is None:
        return {}
    path = manifests.path(name)
    found = None if anew else _CACHE.get(path)
    if found is None:
        found = _by_file(manifests, path, read_entries(manifests, name, (DELETION_VECTORS,)))
        _CACHE.put(path, found)
    return found


def _by_file(manifests: Manifests, path: str, entries: Iterable[IndexEntry]) -> Vectors:
    found: dict[tuple[tuple[Any, ...], int, str], Vector] = {}
    for entry in entries:
        if entry.kind != DELETION_VECTORS:
            continue
        if entry.external_path is not None:
            raise NotSupportedError(
                f"index file {entry.file} of the table at {manifests.location} lies outside "
                f"the table ({entry.external_path}): its deletion vectors can't be read here"
            )
        for one in entry.vectors:
            place = (entry.partition, entry.bucket, one.file)
            if place in found:
                words = f"data file {one.file} has two deletion vectors, expected one"
                raise damage.metadata_file("index manifest", path, words)
            found[place] = Vector(entry.file, entry.size, one.offset, one.length, one.rows)
    return found
