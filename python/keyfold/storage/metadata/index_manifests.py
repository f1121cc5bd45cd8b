"""The index manifest of a snapshot, which names the index files of buckets: read into values and
written from them (Paimon's `IndexManifestEntry`, version 1).

An entry has the hashes of the keys of a bucket, or the deletion vectors of some of its data files.
A commit that changes neither passes the manifest on by its name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro

from keyfold.errors import NotSupportedError
from keyfold.files import damage
from keyfold.storage.metadata.avro_records import INDEX_SCHEMA, INDEXED, check_index
from keyfold.storage.metadata.entries import ADD, Record
from keyfold.storage.metadata.manifests import Manifests, understood

DELETION_VECTORS = "DELETION_VECTORS"
HASH = "HASH"
WRITTEN = (HASH, DELETION_VECTORS)
_PLACES = "_DELETIONS_VECTORS_RANGES"
_SCHEMA = fastavro.parse_schema(INDEX_SCHEMA)


@dataclass(frozen=True)
class VectorRange:
    """The place of the deletion vector of a data file in an index file, as `Vector` has it."""

    file: str
    offset: int
    length: int
    rows: int | None


@dataclass(frozen=True)
class IndexEntry:
    """An index file of a bucket, of `size` bytes; `partition` are values as in manifests. `kind` is
    HASH, with `rows` hashes, or DELETION_VECTORS, of `rows` data files at `vectors`. Of other kinds
    only `kind` and `file` are known.
    """

    partition: tuple[Any, ...]
    bucket: int
    kind: str
    file: str
    size: int
    rows: int
    vectors: tuple[VectorRange, ...] = ()
    external_path: str | None = None


def read_entries(
    manifests: Manifests, name: str | None, kinds: Collection[str] = WRITTEN
) -> list[IndexEntry]:
    """The entries of an index manifest, none if there is no manifest; those of other kinds are not
    looked into. Raises CorruptDataError if it is damaged.
    """
    if name is None:
        return []
    path = manifests.path(name)
    records = manifests.records(INDEXED, name)
    return [_entry(manifests, path, record, kinds) for record in records]


def _entry(manifests: Manifests, path: str, record: Record, kinds: Collection[str]) -> IndexEntry:
    kind, file = record["_INDEX_TYPE"], record["_FILE_NAME"]
    if kind not in kinds:
        return IndexEntry((), -1, kind, file, 0, 0)
    has_ranges = kind == DELETION_VECTORS
    if has_ranges and record.get(_PLACES) is None and record.get("_ROW_COUNT") == 0:
        has_ranges = False  # pypaimon makes NULL of a list without vectors
    with understood("index manifest", path):
        check_index(record, has_ranges=has_ranges)
        partition = manifests.partition(record)
    if record["_KIND"] != ADD:
        raise damage.metadata_file("index manifest", path, "an entry deletes an index file")
    ranges = record[_PLACES] if has_ranges else ()
    vectors = (VectorRange(r["f0"], r["f1"], r["f2"], r.get("_CARDINALITY")) for r in ranges)
    size, rows = record["_FILE_SIZE"], record["_ROW_COUNT"]
    elsewhere = record.get("_EXTERNAL_PATH")
    return IndexEntry(
        partition, record["_BUCKET"], kind, file, size, rows, tuple(vectors), elsewhere
    )


def write_entries(manifests: Manifests, name: str, entries: Sequence[IndexEntry]) -> None:
    """Write an index manifest. Raises NotSupportedError if an entry is of a kind whose fields are
    not known here.
    """
    for entry in entries:
        if entry.kind not in WRITTEN:
            raise NotSupportedError(
                f"the table at {manifests.location} has index file {entry.file} of kind "
                f"{entry.kind}, expected {' or '.join(WRITTEN)}: its index manifest can't be "
                "written anew here"
            )
    records = [_record(manifests, entry) for entry in entries]
    manifests.write_records(_SCHEMA, name, records)


def _record(manifests: Manifests, entry: IndexEntry) -> Record:
    ranges = [
        {"f0": one.file, "f1": one.offset, "f2": one.length, "_CARDINALITY": one.rows}
        for one in entry.vectors
    ]
    return {
        "_VERSION": 1,
        "_KIND": ADD,
        "_PARTITION": manifests.shapes.partition.encode(entry.partition),
        "_BUCKET": entry.bucket,
        "_INDEX_TYPE": entry.kind,
        "_FILE_NAME": entry.file,
        "_FILE_SIZE": entry.size,
        "_ROW_COUNT": entry.rows,
        _PLACES: ranges if entry.kind == DELETION_VECTORS else None,
        "_EXTERNAL_PATH": entry.external_path,
    }


def no_index(table: str, bucket: int, file: str) -> NotSupportedError:
    """The error of a job that writes to a bucket whose keys no index file has."""
    return NotSupportedError(
        f"table {table} can't be written here: bucket {bucket} has data file {file} and no index "
        "of its keys, as Paimon's writers leave one: INSERT OVERWRITE (table.overwrite) it from a "
        "read of it"
    )
