"""The deletion vectors of a snapshot, as its index manifest names them.

An entry has those of a bucket, or of some files of one: of each data file the part of an index file
that is the bitmap of its deleted positions (Paimon's `IndexManifestEntry`). Entries of other kinds
are no concern of readers.
"""

from __future__ import annotations

from typing import Any

from keyfold.errors import NotSupportedError
from keyfold.files import damage
from keyfold.resources.cache import Cache
from keyfold.storage.metadata.avro_records import INDEXED, check_vectors
from keyfold.storage.metadata.entries import ADD, Record
from keyfold.storage.metadata.live_files import Vectors
from keyfold.storage.metadata.manifests import Manifests, understood
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.wire.specs import Vector

DELETION_VECTORS = "DELETION_VECTORS"
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
        found = _read(manifests, name)
        _CACHE.put(path, found)
    return found


def _read(manifests: Manifests, name: str) -> Vectors:
    found: dict[tuple[Any, ...], Vector] = {}
    for record in manifests.records(INDEXED, name):
        if record["_INDEX_TYPE"] == DELETION_VECTORS:
            _add(manifests, name, record, found)
    return found


def _add(manifests: Manifests, name: str, record: Record, found: dict[Any, Vector]) -> None:
    path = manifests.path(name)
    with understood("index manifest", path):
        check_vectors(record)
        partition = manifests.partition(record)
    if record.get("_EXTERNAL_PATH") is not None:
        raise NotSupportedError(
            f"index file {record['_FILE_NAME']} of the table at {manifests.location} lies outside "
            f"the table ({record['_EXTERNAL_PATH']}): its deletion vectors can't be read here"
        )
    if record["_KIND"] != ADD:
        raise damage.metadata_file("index manifest", path, "an entry deletes an index file")
    for one in record["_DELETIONS_VECTORS_RANGES"]:
        place = (partition, record["_BUCKET"], one["f0"])
        if place in found:
            words = f"data file {one['f0']} has two deletion vectors, expected one"
            raise damage.metadata_file("index manifest", path, words)
        where = record["_FILE_NAME"], record["_FILE_SIZE"], one["f1"], one["f2"]
        found[place] = Vector(*where, one.get("_CARDINALITY"))
