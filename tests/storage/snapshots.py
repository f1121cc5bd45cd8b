"""Tables whose snapshots expire: files that exist, tags, branches and consumers as Paimon stores
them, and what is on disk.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from keyfold.storage.commits import answers, commit
from keyfold.storage.maintenance.expire import expire
from keyfold.storage.maintenance.retained import Retention
from keyfold.storage.table import Table
from keyfold.stores.local import LocalFiles
from keyfold.wire.specs import CommitMessage
from tests.storage import damaged, tables


def make(folder: Path, **options: str) -> Table:
    return tables.table(folder, tables.new_table(**options))


def append(found: Table, *messages: CommitMessage) -> None:
    """Commit messages whose files exist; others take their place if they come late."""
    given: Sequence[CommitMessage] = messages
    spec = replace(tables.spec(found), snapshot=found.snapshots.latest_id())
    while True:
        lay(found, *given)
        answer = commit.append(found, spec, given)
        if not isinstance(answer, answers.Late):
            return
        spec = replace(spec, snapshot=answer.seen)
        for message in given:
            folder = Path(message.partition.bucket_folder(found.layout, message.bucket))
            for file in message.files:
                (folder / file.name).unlink()
        number = answer.sequence
        given = [tables.message(found, bucket=m.bucket, sequence=number) for m in given]


def overwrite(found: Table, *messages: CommitMessage) -> None:
    """Commit messages in place of all files."""
    lay(found, *messages)
    commit.overwrite(found, tables.spec(found), messages, "all")


def lay(found: Table, *messages: CommitMessage) -> None:
    for message in messages:
        folder = Path(message.partition.bucket_folder(found.layout, message.bucket))
        folder.mkdir(exist_ok=True)
        for file in message.files:
            (folder / file.name).write_bytes(b"data")


def expired(found: Table, **asked: Any) -> int:
    """Expire; unless asked otherwise, all but the newest snapshot."""
    asked = {"at_least": 1, "seconds": -1.0, "limit": 1000} | asked
    return expire(found, Retention.of(found, **asked))


def ids(found: Table) -> list[int]:
    return sorted(found.snapshots.ids())


def data_files(found: Table) -> set[str]:
    return {path.name for path in Path(found.layout.location).glob("bucket-*/*")}


def manifest_files(found: Table) -> set[str]:
    return {f"manifest/{p.name}" for p in (Path(found.layout.location) / "manifest").iterdir()}


def live(found: Table, *numbers: int) -> set[str]:
    return {file.name for number in numbers for file in found.live_files(number)}


def tag(found: Table, number: int, name: str = "kept") -> None:
    """As Paimon stores a tag: the snapshot, and when the tag was made."""
    snapshot = json.loads(Path(found.snapshots.path(number)).read_text())
    folder = Path(found.layout.location) / "tag"
    folder.mkdir(exist_ok=True)
    extra = {"tagCreateTime": [2026, 1, 2, 3, 4, 5, 6], "tagTimeRetained": 86400.0}
    (folder / f"tag-{name}").write_text(json.dumps(snapshot | extra))


def branch(found: Table, number: int, name: str = "b") -> None:
    """As Paimon branches: the snapshot and the schemas are copied, files stay with the table."""
    location = Path(found.layout.location)
    folder = location / "branch" / f"branch-{name}"
    (folder / "snapshot").mkdir(parents=True)
    shutil.copytree(location / "schema", folder / "schema")
    shutil.copy(found.snapshots.path(number), folder / "snapshot")


def consume(found: Table, following: int, name: str = "c") -> None:
    folder = Path(found.layout.location) / "consumer"
    folder.mkdir(exist_ok=True)
    (folder / f"consumer-{name}").write_text(json.dumps({"nextSnapshot": following}))


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


class Mortal(LocalFiles):
    """Files of a process that dies at its n-th removal."""

    def __init__(self, lives: int) -> None:
        object.__setattr__(self, "left", [lives])

    def remove(self, path: str) -> None:
        left: list[int] = self.left  # type: ignore[attr-defined]
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        super().remove(path)


def die(found: Table, removals: int) -> None:
    """An expiry of all but the newest snapshot that is killed after so many removals. What its
    process kept of files that are gone, no other one has.
    """
    mortal = Table(
        Mortal(removals), found.catalog, found.namespace, found.table, found.layout, None
    )
    try:
        expired(mortal)
    except Killed:
        damaged.forget()
