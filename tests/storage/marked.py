"""Deletion vectors of a table, written from the format by hand: index files and index manifests."""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyroaring import BitMap, BitMap64

from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from tests.storage import damaged
from tests.storage.crafted import Record, encoded

MAGIC_32, MAGIC_64 = 1581511376, 1681511377
_RANGE: Any = {
    "type": "record",
    "name": "range",
    "fields": [
        {"name": "f0", "type": "string"},
        {"name": "f1", "type": "int"},
        {"name": "f2", "type": "int"},
        {"name": "_CARDINALITY", "type": ["null", "long"], "default": None},
    ],
}
_FIELDS = {
    "_VERSION": "int",
    "_KIND": "int",
    "_PARTITION": "bytes",
    "_BUCKET": "int",
    "_INDEX_TYPE": "string",
    "_FILE_NAME": "string",
    "_FILE_SIZE": "long",
    "_ROW_COUNT": "long",
    "_DELETIONS_VECTORS_RANGES": ["null", {"type": "array", "items": _RANGE}],
    "_EXTERNAL_PATH": ["null", "string"],
}
SCHEMA: Any = {
    "type": "record",
    "name": "entry",
    "fields": [{"name": name, "type": kind} for name, kind in _FIELDS.items()],
}


def vector(positions: Iterable[int], bits: int) -> tuple[bytes, int]:
    """The bytes of one vector, and the length that entries say of it."""
    if bits == 32:
        content = struct.pack(">i", MAGIC_32) + bytes(BitMap(positions).serialize())
    else:
        content = struct.pack("<i", MAGIC_64) + bytes(BitMap64(positions).serialize())
    data = struct.pack(">i", len(content)) + content + struct.pack(">I", zlib.crc32(content))
    return data, len(content) if bits == 32 else len(data)


def index_file(marks: Mapping[str, Iterable[int]], bits: int = 32) -> tuple[bytes, list[Record]]:
    """An index file of the deleted positions of data files, by name, and the parts of it."""
    data, parts = b"\x01", []
    for name, positions in marks.items():
        found = sorted(positions)
        one, length = vector(found, bits)
        parts.append({"f0": name, "f1": len(data), "f2": length, "_CARDINALITY": len(found)})
        data += one
    return data, parts


def enable(found: Table, text: str = "true", **options: str) -> None:
    """The table has the option from its first schema on, or has it not."""
    path = Path(found.layout.location) / "schema" / "schema-0"
    schema = json.loads(path.read_text())
    schema["options"] |= {"deletion-vectors.enabled": text} | options
    path.write_text(json.dumps(schema))
    damaged.forget()


def mark(
    found: Table,
    files: Sequence[LiveFile],
    marks: Mapping[str, Collection[int]],
    bits: int = 32,
    change: Any = None,
) -> list[Path]:
    """Let the newest snapshot mark rows of its files: by name the positions. `change` may change an
    entry of the manifest. Returns the index files.
    """
    location, entries, paths = Path(found.layout.location), [], []
    (location / "index").mkdir(exist_ok=True)
    for place in sorted({(file.record["_PARTITION"], file.bucket) for file in files}):
        named = [f.name for f in files if (f.record["_PARTITION"], f.bucket) == place]
        data, parts = index_file({name: marks[name] for name in named if name in marks}, bits)
        paths.append(location / "index" / f"index-{uuid.uuid4()}-0")
        paths[-1].write_bytes(data)
        values = 1, 0, *place, "DELETION_VECTORS", paths[-1].name, len(data), len(parts), parts
        entries.append(dict(zip(_FIELDS, (*values, None), strict=True)))
        if change is not None:
            change(entries[-1])
    name = f"index-manifest-{uuid.uuid4()}-0"
    (location / "manifest" / name).write_bytes(encoded(SCHEMA, entries))
    path = Path(found.snapshots.path(found.snapshots.latest_id() or 0))
    path.write_text(json.dumps({**json.loads(path.read_text()), "indexManifest": name}))
    damaged.forget()
    return paths
