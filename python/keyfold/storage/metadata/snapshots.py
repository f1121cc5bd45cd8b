"""Snapshots of one table: reading one, publishing the next, removing the oldest.

`stores.snapshot_folder` says which are there. Snapshots expire from the oldest up and the newest
never does, so ids have no gaps.
"""

import contextlib
import functools
import re
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ParamSpec, TypeVar

from keyfold.errors import CorruptDataError, SnapshotExpiredError
from keyfold.files import damage
from keyfold.storage.metadata.avro_records import (  # fmt: skip
    Check,
    check_record,
    is_long,
    is_name,
    is_text,
    is_texts,
)
from keyfold.storage.metadata.documents import document, read_as, text_of
from keyfold.stores.files import Entry
from keyfold.stores.snapshot_folder import HINTS, SNAPSHOT_NAME, SnapshotFolder

_LOOKS = 100
STATEMENT = "keyfold.statement"  # a property: the statement that changed rows, and how many
# A property: what went by its age. Changes show nothing of it, but of `SHOWN_ROWS`.
EXPIRED = "keyfold.expired"
PARTITIONS, ROWS, SHOWN_ROWS = "partitions", "rows", "rows, as deleted"
# A property: the first of the snapshots up to this one whose times never go back.
IN_ORDER = "keyfold.in-order-from"
HIGHEST = "keyfold.highest-sequence"  # a property: no row has a sequence number above it
STREAMS = "keyfold.streams"  # a property: the streams that write, and the last epoch of each
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
_DIGITS = 19
Lock = Callable[[], AbstractContextManager[None]]
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

    @property
    def in_order_from(self) -> int | None:
        """The first of the snapshots up to this one whose times never go back; None if the engine
        that committed this one does not say.
        """
        return _number((self.properties or {}).get(IN_ORDER, ""))

    @property
    def number_above(self) -> int | None:
        """A sequence number that none of its rows is above, -1 if it has no files; None if it does
        not say, as the snapshots of other engines.
        """
        text, _, of = (self.properties or {}).get(HIGHEST, "").partition("@")
        if of != str(self.id):  # other engines may carry the properties of an older one on
            return None
        return -1 if text == "-1" else _number(text)

    def as_read(self) -> dict[str, Any]:
        """The JSON of it without what only commits read, which may be long."""
        told = {k: v for k, v in (self.properties or {}).items() if k != STREAMS}
        return replace(self, properties=told or None).to_json()

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


def _number(text: str) -> int | None:
    """The number of a property, None if the text is not one of 64 bits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def highest_property(number: int, snapshot_id: int) -> dict[str, str]:
    """The property that says what `Snapshot.number_above` reads."""
    return {HIGHEST: f"{number}@{snapshot_id}"}


_NAMES = {
    re.sub("_(.)", lambda match: match[1].upper(), each.name): each.name
    for each in fields(Snapshot)
}


@dataclass(frozen=True)
class Snapshots(SnapshotFolder):
    """The snapshots in a folder; `publisher` publishes instead of us, or we do so under `lock`. The
    snapshot of the tag `tag` is read though it has expired.
    """

    publisher: Callable[[Snapshot], bool] | None = field(default=None, compare=False, repr=False)
    tag: str = ""
    lock: Lock = field(default=contextlib.nullcontext, compare=False, repr=False)

    @property
    def keeper(self) -> str:
        """The tag's file below the table's home, if there is a tag."""
        return f"tag/tag-{self.tag}" if self.tag else ""

    def tag_path(self, name: str) -> str:
        return f"{self.location}/tag/tag-{name}"

    def latest(self) -> Snapshot | None:
        """The newest snapshot, None for a table without data."""
        for _ in range(_LOOKS):
            snapshot_id = self.latest_id()
            found = None if snapshot_id is None else self.find(snapshot_id)
            if found is not None or snapshot_id is None:
                return found
        raise CorruptDataError(f"the snapshots of the table at {self.location} come and go")

    def newest(self) -> tuple[int | None, Snapshot | None]:
        """The id of the newest snapshot, and the snapshot unless its file is damaged, which those
        say that read it.
        """
        for _ in range(_LOOKS):
            snapshot_id = self.climbed()
            if snapshot_id is None:
                return None, None
            try:
                found = self.find(snapshot_id)
            except CorruptDataError:
                return snapshot_id, None
            if found is not None:
                return snapshot_id, found
        raise CorruptDataError(f"the snapshots of the table at {self.location} come and go")

    def read(self, snapshot_id: int) -> Snapshot:
        """The snapshot of that id, also if it is only in the tag. Raises SnapshotExpiredError if it
        has expired or was rolled back, CorruptDataError if it is missing otherwise or damaged.
        """
        found = self.find(snapshot_id)
        if found is None and self.tag:
            found = self.tagged(self.tag)
        if found is None or found.id != snapshot_id:
            raise self.gone(snapshot_id, self.keeper)
        return found

    def tagged(self, name: str) -> Snapshot | None:
        """The snapshot of a tag, None if there is no such tag."""
        return self.parse(self.tag_path(name))

    def find(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot of that id, None if it does not exist."""
        path = self.path(snapshot_id)
        found = self.parse(path)
        if found is not None and found.id != snapshot_id:
            raise damage.metadata_file("snapshot file", path, f"it says that its id is {found.id}")
        return found

    def stored(self, snapshot_id: int) -> tuple[Snapshot, str, bytes] | None:
        """The snapshot of that id, with its path and the content of that; None if it is gone."""
        path = self.path(snapshot_id)
        while (found := self.find(snapshot_id)) is not None:
            with contextlib.suppress(FileNotFoundError):
                content = self.files.read(path)
                if Snapshot.from_json(document(content)) == found:
                    return found, path, content
        return None

    def parse(self, path: str) -> Snapshot | None:
        """The snapshot in a file, which may be a tag or a changelog too; None if it is missing."""
        return read_as(self.files, path, "snapshot file", Snapshot.from_json)

    def publish(self, snapshot: Snapshot, base: Snapshot | None) -> bool:
        """Publish exclusively what was prepared on `base`; False if another commit took the id, or
        the base was rolled back. Raises OSError if the outcome is unknown.
        """
        if self.publisher is not None:
            return self.publisher(snapshot)
        with self.lock():  # of other engines that look before they write
            published = self.files.publish(self.path(snapshot.id), text_of(snapshot.to_json()))
        if not published or not self.stays(snapshot, base, published):
            return False
        with contextlib.suppress(OSError):  # a hint: readers look further than it
            self._write_hint("LATEST", snapshot.id)
            if snapshot.id == 1:
                self._write_hint("EARLIEST", 1)
        return True

    def stays(self, snapshot: Snapshot, base: Snapshot | None, at: int | None = None) -> bool:
        """Whether a snapshot that was published `at` a time, if that is known, follows its base;
        else it is removed.
        """
        if self.publisher is not None or self._continues(snapshot.id, at, base):
            return True
        self.files.remove(self.path(snapshot.id))
        return False

    def withdraw(self, snapshot_id: int) -> None:
        """Remove a snapshot that was published into another table of the same name. The hints that
        name it go first: a table that has hints and no snapshots has lost them.
        """
        for name in HINTS:
            if self.hint(name) == snapshot_id:
                self.files.remove(f"{self.location}/snapshot/{name}")
        self.files.remove(self.path(snapshot_id))

    def _continues(self, snapshot_id: int, published: int | None, base: Snapshot | None) -> bool:
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
        listed = self.listed()
        if any(number < snapshot_id for number in listed):
            return False
        times = {number: entry.modified for number, entry in listed.items()}
        since = times.get(snapshot_id, 0) if published is None else published
        return all(time >= since for number, time in times.items() if number > snapshot_id)

    def listed(self) -> dict[int, Entry]:
        """The files of the snapshots in the folder, with their times by the store's clock."""
        entries = self.files.entries(f"{self.location}/snapshot")
        named = ((SNAPSHOT_NAME.fullmatch(entry.name), entry) for entry in entries)
        return {int(match[1]): entry for match, entry in named if match is not None}

    def announce_earliest(self, snapshot_id: int) -> None:
        """Say that older snapshots are about to be removed. Tags and rollbacks look there after
        they have shown themselves (`first_kept`), and an expiry looks for them afterwards.
        """
        if self.first_kept() < snapshot_id:
            self._write_hint("EARLIEST", snapshot_id)

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

    def _write_hint(self, name: str, snapshot_id: int) -> None:
        self.files.replace(f"{self.location}/snapshot/{name}", str(snapshot_id).encode())


def replanned(make: Callable[Given, Made]) -> Callable[Given, Made]:
    """Wrap a function that plans a job on the newest snapshot. It is called again if that
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
