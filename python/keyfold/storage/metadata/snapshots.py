"""Snapshots of one table: finding the latest, reading one, publishing the next.

`snapshot/LATEST` and `snapshot/EARLIEST` are hints that may lag behind or be missing: the files
decide. Snapshots expire from the oldest up and the newest never does, so ids have no gaps.
"""

import contextlib
import functools
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ParamSpec, TypeVar

from keyfold.errors import CorruptDataError, SnapshotExpiredError
from keyfold.files import damage
from keyfold.storage.metadata.documents import read_as, text_of
from keyfold.storage.metadata.records import (  # fmt: skip
    Check,
    check_record,
    is_long,
    is_name,
    is_text,
    is_texts,
)
from keyfold.stores.files import Files

_NAME = re.compile(r"snapshot-([0-9]{1,18})")
_LOOKS = 100
KEEPING = (
    "snapshot.num-retained.min or snapshot.time-retained of the table keep snapshots longer (ALTER "
    "TABLE … SET TBLPROPERTIES)"
)
STATEMENT = "keyfold.statement"  # a property: the statement that changed rows, and how many
BATCH_COMMIT_IDENTIFIER = (1 << 63) - 1  # no stream counts these commits
_FIELDS: dict[str, Check] = {
    "id": is_long,
    "schema_id": is_long,
    "base_manifest_list": is_name,
    "delta_manifest_list": is_name,
    "commit_user": is_text,
    "commit_identifier": is_long,
    "commit_kind": is_text,
    "time_millis": is_long,
}
_REQUIRED = {*_FIELDS, "version", "total_record_count", "delta_record_count"}
_MAYBE: dict[str, Check] = {
    "total_record_count": is_long,
    "delta_record_count": is_long,
    "base_manifest_list_size": is_long,
    "delta_manifest_list_size": is_long,
    "changelog_manifest_list": is_name,
    "changelog_manifest_list_size": is_long,
    "changelog_record_count": is_long,
    "index_manifest": is_name,
    "watermark": is_long,
    "statistics": is_name,
    "next_row_id": is_long,
    "properties": is_texts,
    "writer_version": is_text,
}
_TIMES = 10
Given = ParamSpec("Given")
Made = TypeVar("Made")


def _new_uuid() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Snapshot:
    """One snapshot, with the fields that its file has in camel case."""

    version: int
    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    total_record_count: int | None
    delta_record_count: int | None
    commit_user: str
    commit_identifier: int
    commit_kind: str
    time_millis: int
    base_manifest_list_size: int | None = None
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    next_row_id: int | None = None
    properties: Mapping[str, str] | None = None
    uuid: str | None = field(default_factory=_new_uuid)
    writer_version: str | None = None

    @property
    def statement(self) -> str | None:
        """The DELETE, UPDATE or MERGE that made it and its counts of rows, as JSON."""
        return (self.properties or {}).get(STATEMENT)

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> "Snapshot":
        """The snapshot of a file. Raises KeyError or TypeError if a field is missing or of another
        type. Other fields are passed over.
        """
        found = {name: stored[key] for key, name in _NAMES.items() if key in stored}
        check_record(found, _FIELDS, _MAYBE)
        return Snapshot(**{"uuid": None} | found)

    def to_json(self) -> dict[str, Any]:
        """The JSON of its file. Optional fields that are None are left out."""
        named = asdict(self)
        return {
            key: named[name]
            for key, name in _NAMES.items()
            if named[name] is not None or name in _REQUIRED
        }


_NAMES = {
    re.sub("_(.)", lambda match: match[1].upper(), each.name): each.name
    for each in fields(Snapshot)
}


@dataclass(frozen=True)
class Snapshots:
    """The snapshot folder in `location`, the home of a table; `publisher` publishes instead of us.
    The snapshot of the tag `tag` is read though it has expired.
    """

    files: Files
    location: str
    publisher: Callable[[Snapshot], bool] | None = field(default=None, compare=False, repr=False)
    tag: str = ""

    def path(self, snapshot_id: int) -> str:
        """The path at which the snapshot of that id is published."""
        return f"{self.location}/snapshot/snapshot-{snapshot_id}"

    def latest_id(self) -> int | None:
        """Id of the newest snapshot, None for a table without data."""
        found = self._hint("LATEST")
        for _ in range(_LOOKS):
            if found is None or not self._exists(found):
                found = max(self.ids(), default=None)
            if found is None:
                return None
            while self._exists(found + 1):
                found += 1
            if self._exists(found):
                return found
            # It expired while we went up: those above may have too.
        raise CorruptDataError(f"the snapshots of the table at {self.location} come and go")

    def earliest_id(self) -> int | None:
        """Id of the oldest snapshot, None for a table without data."""
        hinted = self._hint("EARLIEST")
        if hinted is not None and self._exists(hinted) and not self._exists(hinted - 1):
            return hinted
        return min(self.ids(), default=None)

    def ids(self) -> list[int]:
        """Ids of the snapshots in the folder, in no order."""
        names = self.files.names(f"{self.location}/snapshot")
        return [int(match[1]) for name in names if (match := _NAME.fullmatch(name))]

    def latest(self) -> Snapshot | None:
        """The newest snapshot, None for a table without data."""
        for _ in range(_LOOKS):
            snapshot_id = self.latest_id()
            found = None if snapshot_id is None else self.find(snapshot_id)
            if found is not None or snapshot_id is None:
                return found
        raise CorruptDataError(f"the snapshots of the table at {self.location} come and go")

    def read(self, snapshot_id: int) -> Snapshot:
        """The snapshot of that id, also if it is only in the tag. Raises SnapshotExpiredError if it
        has expired or was rolled back, CorruptDataError if it is missing otherwise or damaged.
        """
        found = self.find(snapshot_id)
        if found is None and self.tag:
            found = self.tagged(self.tag)
        if found is None or found.id != snapshot_id:
            raise self.gone(snapshot_id)
        return found

    def tag_path(self, name: str) -> str:
        return f"{self.location}/tag/tag-{name}"

    def tagged(self, name: str) -> Snapshot | None:
        """The snapshot of a tag, None if there is no such tag."""
        return self.parse(self.tag_path(name))

    def gone(self, snapshot_id: int) -> Exception:
        """The error if there is no snapshot of that id, or not all of its files."""
        latest = self.latest_id()
        if latest is not None and latest < snapshot_id:
            return SnapshotExpiredError(
                f"snapshot {snapshot_id} of the table at {self.location} was rolled back, the "
                f"newest is {latest}: read the table again"
            )
        if latest is None or latest == snapshot_id:
            return CorruptDataError(
                f"snapshot {snapshot_id} of the table at {self.location}, or a file of it, does "
                f"not exist; the newest is {latest}"
            )
        return SnapshotExpiredError(
            f"snapshot {snapshot_id} of the table at {self.location} has expired, the oldest kept "
            f"is {self.earliest_id()}: read the table again (a DataFrame keeps the snapshot that "
            f"it was made on); {KEEPING}"
        )

    def find(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot of that id, None if it does not exist."""
        path = self.path(snapshot_id)
        found = self.parse(path)
        if found is not None and found.id != snapshot_id:
            raise damage.metadata_file("snapshot file", path, f"it says that its id is {found.id}")
        return found

    def parse(self, path: str) -> Snapshot | None:
        """The snapshot in a file, which may be a tag or a changelog too; None if it is missing."""
        return read_as(self.files, path, "snapshot file", Snapshot.from_json)

    def publish(self, snapshot: Snapshot, base: Snapshot | None) -> bool:
        """Publish exclusively what was prepared on `base`; False if another commit took the id, or
        the base was rolled back. Raises OSError if the outcome is unknown.
        """
        if self.publisher is not None:
            return self.publisher(snapshot)
        published = self.files.publish(self.path(snapshot.id), text_of(snapshot.to_json()))
        if not published:
            return False
        if not self._continues(snapshot.id, published, base):
            self.files.remove(self.path(snapshot.id))
            return False
        with contextlib.suppress(OSError):  # a hint: readers look further than it
            self._write_hint("LATEST", snapshot.id)
            if snapshot.id == 1:
                self._write_hint("EARLIEST", 1)
        return True

    def _continues(self, snapshot_id: int, published: int, base: Snapshot | None) -> bool:
        """Whether a snapshot just published is a new one, not one in the place of another that
        was published and has expired since ours was prepared, nor one above a rollback.

        Expiry goes from the oldest up: while the one before is there, nobody had this id. Else the
        times of newer ones decide: those that follow ours were written after it was published.
        A rollback goes from the newest down, and looks above each that it removed: if it has not
        seen ours, we see here that the one before is gone, or another, while older ones are there.
        """
        before = self.find(snapshot_id - 1) if snapshot_id > 1 else None
        if before is not None:
            return before == base
        entries = self.files.entries(f"{self.location}/snapshot")
        found = [(entry, match) for entry in entries if (match := _NAME.fullmatch(entry.name))]
        if any(int(match[1]) < snapshot_id for _, match in found):
            return False
        newer = [entry for entry, match in found if int(match[1]) > snapshot_id]
        return all(entry.modified >= published for entry in newer)

    def announce_earliest(self, snapshot_id: int) -> None:
        """Say that older snapshots are about to be removed. Tags and rollbacks look there after
        they have shown themselves (`first_kept`), and an expiry looks for them afterwards.
        """
        if self.first_kept() < snapshot_id:
            self._write_hint("EARLIEST", snapshot_id)

    def first_kept(self) -> int:
        """The id below which snapshots are being removed; 0 if that is not known."""
        return self._hint("EARLIEST") or 0

    def is_kept(self, snapshot_id: int) -> bool:
        """Whether the snapshot of that id is there, and no expiry has begun to remove it."""
        return self._exists(snapshot_id) and snapshot_id >= self.first_kept()

    def remove_expired(self, begin: int, end: int) -> None:
        """Remove the snapshots from `begin` up to `end`."""
        for snapshot_id in range(begin, end):
            self.files.remove(self.path(snapshot_id))

    def begin_at(self, snapshot_id: int) -> None:
        """Set the hint of the earliest snapshot back: to one that a tag kept, or to one that is not
        removed after all.
        """
        self._write_hint("EARLIEST", snapshot_id)

    def start_anew(self, *, latest: int) -> None:
        """Set the hints back: newer snapshots are being rolled back."""
        self._write_hint("LATEST", latest)
        if self.first_kept() > latest:
            self._write_hint("EARLIEST", min(self.ids(), default=latest))

    def _exists(self, snapshot_id: int) -> bool:
        return self.files.exists(self.path(snapshot_id))

    def _write_hint(self, name: str, snapshot_id: int) -> None:
        self.files.replace(f"{self.location}/snapshot/{name}", str(snapshot_id).encode())

    def _hint(self, name: str) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            hinted = int(self.files.read(f"{self.location}/snapshot/{name}"))
            return hinted if is_long(hinted) else None
        return None


def replanned(make: Callable[Given, Made]) -> Callable[Given, Made]:
    """The same function, which plans a job on the newest snapshot. It is called again if that
    snapshot expired while it was read because many others followed.
    """

    @functools.wraps(make)
    def again(*args: Given.args, **named: Given.kwargs) -> Made:
        for _ in range(_TIMES):
            try:
                return make(*args, **named)
            except SnapshotExpiredError:
                continue
        return make(*args, **named)

    return again
