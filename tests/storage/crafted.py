"""Metadata as somebody may write it who knows the format: a field of a file is changed, and the
files that say its size, so that nothing but the field is odd.
"""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro

from keyfold.storage.table import Table
from tests.storage import damaged, snapshots

Record = dict[str, Any]
Change = Callable[[Record], None]
INDEX_SCHEMA: Any = {
    "type": "record",
    "name": "entry",
    "fields": [{"name": n, "type": "string"} for n in ("_INDEX_TYPE", "_FILE_NAME")],
}


def decoded(data: bytes) -> tuple[Any, list[Any]]:
    """The schema and the records of an Avro file."""
    reader = fastavro.reader(BytesIO(data))
    return reader.writer_schema, list(reader)


def encoded(schema: Any, records: list[Any]) -> bytes:
    """The inverse."""
    out = BytesIO()
    fastavro.writer(out, schema, records, codec="zstandard")
    return out.getvalue()


class Metadata:
    """The newest snapshot of a table and what it names, to be changed where it lies."""

    def __init__(self, found: Table) -> None:
        self.location = Path(found.layout.location)
        self.path = Path(found.snapshots.path(found.snapshots.latest_id() or 0))

    @property
    def snapshot(self) -> Record:
        stored: Record = json.loads(self.path.read_text())
        return stored

    def say(self, **fields: Any) -> None:
        """Fields of the snapshot."""
        self.path.write_text(json.dumps({**self.snapshot, **fields}))
        damaged.forget()

    def of_list(self, which: str, change: Change) -> None:
        """The first record of a manifest list: `baseManifestList` or another field's."""
        schema, records = decoded(self._manifest(self.snapshot[which]).read_bytes())
        change(records[0])
        self._write(which, schema, records)

    def of_manifest(self, which: str, kind: int, change: Change) -> None:
        """The first entry of a kind in the first manifest of that list."""
        list_schema, listed = decoded(self._manifest(self.snapshot[which]).read_bytes())
        path = self._manifest(listed[0]["_FILE_NAME"])
        schema, records = decoded(path.read_bytes())
        change(next(record for record in records if record["_KIND"] == kind))
        path.write_bytes(encoded(schema, records))
        listed[0]["_FILE_SIZE"] = path.stat().st_size
        self._write(which, list_schema, listed)

    def again(self, which: str, *, within: bool) -> None:
        """A manifest list names its first manifest twice, or that one its first file."""
        schema, records = decoded(self._manifest(self.snapshot[which]).read_bytes())
        if within:
            path = self._manifest(records[0]["_FILE_NAME"])
            own, entries = decoded(path.read_bytes())
            path.write_bytes(encoded(own, [*entries, entries[0]]))
            records[0]["_FILE_SIZE"] = path.stat().st_size
        self._write(which, schema, records if within else [*records, records[0]])

    def index(self, name: str) -> None:
        """An index manifest that names one file."""
        record = {"_INDEX_TYPE": "HASH", "_FILE_NAME": name}
        self._manifest("index-manifest-1").write_bytes(encoded(INDEX_SCHEMA, [record]))
        self.say(indexManifest="index-manifest-1")

    def tag(self, found: Table, **fields: Any) -> None:
        """A tag of the snapshot, with other fields."""
        snapshots.tag(found, self.snapshot["id"])
        path = self.location / "tag" / "tag-kept"
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    def branch(self, found: Table, **fields: Any) -> None:
        """A branch of the snapshot, likewise."""
        number = self.snapshot["id"]
        snapshots.branch(found, number)
        path = self.location / "branch" / "branch-b" / "snapshot" / f"snapshot-{number}"
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    def changelog(self) -> None:
        """Its delta is its changelog too."""
        self.say(changelogManifestList=self.snapshot["deltaManifestList"])

    def _write(self, which: str, schema: Any, records: list[Any]) -> None:
        path = self._manifest(self.snapshot[which])
        path.write_bytes(encoded(schema, records))
        self.say(**{f"{which}Size": path.stat().st_size})

    def _manifest(self, name: str) -> Path:
        return self.location / "manifest" / name
