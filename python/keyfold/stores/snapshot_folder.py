"""The snapshot folder of a table: which snapshots are there, and why one, or a file of one, is not.

`LATEST` and `EARLIEST` are hints that may lag, lead or be missing: the files decide. Snapshots
expire from the oldest up and are rolled back from the newest down, and one always stays. So ids
have no gaps, and a hint without any snapshot is damage. Tasks, which read no manifests, look here
too.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from keyfold.errors import ConflictError, CorruptDataError, KeyfoldError, SnapshotExpiredError
from keyfold.stores.files import Files
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import ScanSpec

KEEPING = (
    "snapshot.num-retained.min or snapshot.time-retained of the table keep snapshots longer (ALTER "
    "TABLE … SET TBLPROPERTIES; in Python table.alter(options=…))"
)
SNAPSHOT_NAME = re.compile(r"snapshot-([0-9]{1,18})")
HINTS = ("LATEST", "EARLIEST")
ROLLED_BACK = "keyfold.rolled-back-to"  # a property: the snapshot right below, of equal content
_LOOKS = 100
Item = TypeVar("Item")
_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class SnapshotFolder:
    """The snapshot folder in `location`, the home of a table."""

    files: Files
    location: str

    def path(self, snapshot_id: int) -> str:
        """The path at which the snapshot of that id is published."""
        return f"{self.location}/snapshot/snapshot-{snapshot_id}"

    def latest_id(self) -> int | None:
        """Id of the newest snapshot, None for a table without data. Raises CorruptDataError if the
        table has lost all of its snapshots.
        """
        for _ in range(_LOOKS):
            found = self.climbed()
            if found is None or self.exists(found):
                return found
            # It expired while we went up: those above may have too.
        raise CorruptDataError(f"the snapshots of the table at {self.location} come and go")

    def climbed(self) -> int | None:
        """The id of the newest snapshot, which may be gone by now; None without data."""
        found = self.hint("LATEST")
        if found is None or not self.exists(found):
            found = max(self.ids(), default=None)
        while found is None:
            if self.check_not_lost():
                return None
            found = max(self.ids(), default=None)
        while self.exists(found + 1):
            found += 1
        return found

    def earliest_id(self) -> int | None:
        """Id of the oldest snapshot, None for a table without data."""
        hinted = self.hint("EARLIEST")
        if hinted is not None and self.exists(hinted) and not self.exists(hinted - 1):
            return hinted
        return min(self.ids(), default=None)

    def ids(self) -> list[int]:
        """Ids of the snapshots in the folder, in no order."""
        names = self.files.names(f"{self.location}/snapshot")
        return [int(match[1]) for name in names if (match := SNAPSHOT_NAME.fullmatch(name))]

    def exists(self, snapshot_id: int) -> bool:
        """Whether the snapshot of that id is there."""
        return self.files.exists(self.path(snapshot_id))

    def hint(self, name: str) -> int | None:
        """The id that a hint names; None if there is no such hint, or it can't be read."""
        with contextlib.suppress(OSError, ValueError):
            hinted = int(self.files.read(f"{self.location}/snapshot/{name}"))
            return hinted if 0 <= hinted <= _MOST else None
        return None

    def first_kept(self) -> int:
        """The id below which snapshots are being removed; 0 if that is not known."""
        return self.hint("EARLIEST") or 0

    def is_kept(self, snapshot_id: int) -> bool:
        """Whether the snapshot of that id is there, and no expiry has begun to remove it."""
        return self.exists(snapshot_id) and snapshot_id >= self.first_kept()

    def check_not_lost(self) -> bool:
        """Whether a folder without snapshots is that of a table without data: False if snapshots
        have come since. Raises CorruptDataError if it had some: a snapshot is published before a
        hint, and the last one is never removed.
        """
        hints = {name: found for name in HINTS if (found := self.hint(name)) is not None}
        if not hints:
            return True
        if self.ids():
            return False
        named = " and ".join(f"{name} names snapshot {found}" for name, found in hints.items())
        tags = ", ".join(sorted(self.files.names(f"{self.location}/tag"))) or "none"
        raise CorruptDataError(
            f"the table at {self.location} has lost its snapshots: {self.location}/snapshot/{named}"
            ", and no file snapshot-<n> is there; nothing is read, written, expired or removed, as "
            "its data files would pass for orphans: restore the snapshot folder from a backup; a "
            f"tag holds a snapshot too (tag folder: {tags}): copy its file to snapshot/snapshot-<n>"
            ", n being the id in it"
        )

    def gone(self, snapshot_id: int, keeper: str = "", job: str = "") -> KeyfoldError:
        """The error if there is no snapshot of that id, or not all of its files. It is
        SnapshotExpiredError if the snapshot has expired or was rolled back, CorruptDataError if it
        should be there: it is the newest, or is kept, or older ones are. A file `keeper` below the
        table's home, of a tag or a changelog, may keep it though it has expired. `job` is its
        commit user, if that is known.
        """
        latest, named = self.latest_id(), f"snapshot {snapshot_id} of the table at {self.location}"
        if latest is not None and latest < snapshot_id:
            return SnapshotExpiredError(
                f"{named} was rolled back, the newest is {latest}: read the table again"
            )
        is_tagged = bool(keeper) and self.files.exists(f"{self.location}/{keeper}")
        if not is_tagged and self._is_another(snapshot_id, job):
            return SnapshotExpiredError(
                f"{named} was rolled back, and another has its number: read the table again"
            )
        if latest in (None, snapshot_id):
            return CorruptDataError(
                f"{named}, or a file of it, does not exist; the newest is {latest}"
            )
        if is_tagged:
            return CorruptDataError(f"a file of {named} does not exist, though {keeper} keeps it")
        if self.is_kept(snapshot_id):
            return CorruptDataError(
                f"a file of {named} does not exist, though the snapshot does and no expiry has "
                "begun to remove it (if one of another engine has, read the table again)"
            )
        earliest = self.earliest_id()
        if earliest is not None and earliest < snapshot_id and not self.exists(snapshot_id):
            return CorruptDataError(
                f"{named} is missing ({self.path(snapshot_id)}), though {earliest} is there and "
                f"older ones expire first; the newest is {latest}: restore the file from a backup; "
                "without one, other snapshots can still be read"
            )
        return SnapshotExpiredError(
            f"{named} has expired, the oldest kept is {earliest}: run the statement again (make a "
            "DataFrame anew, as it keeps the snapshot that it was made on); if statements take "
            f"longer than snapshots are kept, {KEEPING}"
        )

    def _is_another(self, snapshot_id: int, job: str) -> bool:
        """Whether the snapshot of that id is not the one of this job. If the job is not known, it
        may be one that a rollback has put there in place of another.
        """
        with contextlib.suppress(OSError, ValueError, AttributeError):
            found = json.loads(self.files.read(self.path(snapshot_id)))
            told = found.get("properties") or {}
            return bool(found.get("commitUser") != job) if job else ROLLED_BACK in told
        return False


@contextlib.contextmanager
def reading(
    layout: TableLayout, files: Files, snapshot_id: int | None, keeper: str = "", job: str = ""
) -> Iterator[None]:
    """Surrounds what reads files that a snapshot names. If one is missing, it raises
    SnapshotExpiredError if the snapshot expired or was rolled back, ConflictError if the table was
    dropped, CorruptDataError if the file is lost. A `snapshot_id` of None is that of files which
    belong to no snapshot yet; `job` is the commit user of the snapshot, if that is known.
    """
    try:
        yield
    except CorruptDataError as error:
        if snapshot_id is None or not isinstance(error.__cause__, FileNotFoundError):
            raise
        check_unchanged(layout, files)
        found = SnapshotFolder(files, layout.home).gone(snapshot_id, keeper, job)
        if isinstance(found, SnapshotExpiredError):
            path = error.__cause__.filename or error.__cause__
            raise SnapshotExpiredError(f"file {path} is gone: {found}") from error
        raise CorruptDataError(f"{error}; {found}") from error


def reading_each(scan: ScanSpec, items: Iterator[Item]) -> Iterator[Item]:
    """Pass items on that are made of files which the snapshot of a scan names (`reading`)."""
    with reading_files(scan):
        yield from items


def reading_files(scan: ScanSpec) -> contextlib.AbstractContextManager[None]:
    """Surrounds what reads files of a scan's snapshot (`reading`)."""
    store = store_of(scan.layout.location, scan.layout.store)
    return reading(scan.layout, store, scan.snapshot, scan.keeper, scan.job)


def stamp(layout: TableLayout, files: Files) -> str:
    """A word that changes if the schema file of a layout is another's; empty if it is missing."""
    return files.stamps([f"{layout.home}/schema/schema-{layout.schema_id}"])[0]


def check_unchanged(layout: TableLayout, files: Files) -> None:
    """Raises ConflictError if the table was dropped, replaced or renamed since it was loaded."""
    if layout.identity and stamp(layout, files) != layout.identity:
        raise changed(layout.name)


def changed(name: str) -> ConflictError:
    """The error: a table is not the one that was loaded."""
    return ConflictError(
        f"table {name} was dropped, renamed or replaced since the query was planned: run it again"
    )
