"""Snapshots of one table: finding the latest, reading one, publishing the next.

`snapshot/LATEST` is a hint that may lag behind or be missing: the newest file decides.
"""

import contextlib
import re
from dataclasses import dataclass
from typing import Any

from keyfold.errors import CorruptDataError
from keyfold.storage.files import Files
from keyfold.storage.paimon import Json, Snapshot

_NAME = re.compile(r"snapshot-(\d+)")


@dataclass(frozen=True)
class Snapshots:
    """The snapshot folder of the table at `location`."""

    files: Files
    location: str

    def path(self, snapshot_id: int) -> str:
        """Where the snapshot of that id is published."""
        return f"{self.location}/snapshot/snapshot-{snapshot_id}"

    def latest_id(self) -> int | None:
        """Id of the newest snapshot, None for a table without data."""
        hinted = self._hint()
        if hinted is None or not self.files.exists(self.path(hinted)):
            return self._newest_listed()
        while self.files.exists(self.path(hinted + 1)):
            hinted += 1
        return hinted

    def latest(self) -> Any | None:
        """The newest snapshot (pypaimon's dataclass), None for a table without data."""
        snapshot_id = self.latest_id()
        return None if snapshot_id is None else self.read(snapshot_id)

    def read(self, snapshot_id: int) -> Any:
        """The snapshot of that id; CorruptDataError if it is gone or unreadable."""
        found = self.find(snapshot_id)
        if found is None:
            raise CorruptDataError(
                f"snapshot {snapshot_id} of the table at {self.location} does not exist (any more)"
            )
        return found

    def find(self, snapshot_id: int) -> Any | None:
        """The snapshot of that id, None if there is none."""
        path = self.path(snapshot_id)
        try:
            return Json.from_json(self.files.read(path).decode(), Snapshot)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as error:
            raise CorruptDataError(f"snapshot file {path} can't be read: {error}") from error

    def publish(self, snapshot: Any) -> bool:
        """Publish exclusively; False if another commit took the id. OSError: outcome unknown."""
        text: str = Json.to_json(snapshot, indent=2)
        if not self.files.publish(self.path(snapshot.id), text.encode()):
            return False
        with contextlib.suppress(OSError):  # a hint: readers look further than it
            self._write_hints(snapshot.id)
        return True

    def _write_hints(self, snapshot_id: int) -> None:
        self.files.replace(f"{self.location}/snapshot/LATEST", str(snapshot_id).encode())
        if snapshot_id == 1:
            self.files.replace(f"{self.location}/snapshot/EARLIEST", b"1")

    def _hint(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            return int(self.files.read(f"{self.location}/snapshot/LATEST"))
        return None

    def _newest_listed(self) -> int | None:
        names = self.files.names(f"{self.location}/snapshot")
        matches = [match for name in names if (match := _NAME.fullmatch(name))]
        return max((int(match[1]) for match in matches), default=None)
