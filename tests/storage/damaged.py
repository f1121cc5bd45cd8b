"""Files of a table as other hands leave them: cut short, of other bytes, empty."""

import random
from pathlib import Path

from keyfold.files import footers
from keyfold.storage.maintenance import restarts
from keyfold.storage.metadata import manifest_columns, manifests, snapshot_files
from keyfold.storage.schema import kept_schemas
from keyfold.storage.table import Table

KINDS = ("data file", "manifest", "base list", "delta list", "snapshot", "schema")


def path_of(found: Table, kind: str) -> Path:
    """A file that the newest snapshot needs."""
    location, snapshot = Path(found.layout.location), found.snapshots.latest()
    match kind:
        case "data file":
            (file, *_) = found.manifests.live(snapshot)
            return location / f"bucket-{file.bucket}" / file.name
        case "manifest":
            return location / "manifest" / found.manifests.changed(snapshot)[0]["_FILE_NAME"]
        case "base list":
            return location / "manifest" / snapshot.base_manifest_list
        case "delta list":
            return location / "manifest" / snapshot.delta_manifest_list
        case "snapshot":
            return Path(found.snapshots.path(snapshot.id))
    return location / "schema" / f"schema-{found.layout.schema_id}"


def ruined(good: bytes) -> dict[str, bytes]:
    """Contents that none of the files can have, by what happened."""
    return {
        "empty": b"",
        "half": good[: len(good) // 2],
        "cut": good[:-1],
        "zeros": bytes(len(good)),
        "noise": random.Random(1).randbytes(len(good)),
        "another": b"[]",
    }


def forget() -> None:
    """What this process keeps of files that never change: another process would have to read."""
    manifests.CACHE.clear()
    manifest_columns.FILES.clear()
    manifest_columns.VIEWS.clear()
    snapshot_files.LISTS.clear()
    restarts.FOLLOWS.clear()
    snapshot_files.LIVE.clear()
    kept_schemas.KEPT.clear()
    footers.KEPT.clear()
