"""Snapshots that one transaction sees and nobody else. Each of its calls commits to these, so that
the next call, and a read in between, finds a table like any other. Data files and manifests are in
the folders of the table; the snapshots themselves are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keyfold.errors import TableError
from keyfold.storage.metadata.snapshots import Snapshot, Snapshots


@dataclass
class StagedState:
    """The snapshots of a transaction on table `name`, above the table's own one `base`, None
    without data. `manifests` are the names of their manifests and manifest lists.
    """

    name: str
    base: int | None
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    manifests: list[str] = field(default_factory=list)
    is_over: bool = False

    @property
    def latest_id(self) -> int | None:
        """The id of the newest one, or of the table's own."""
        return max(self.snapshots, default=self.base)

    def check_open(self) -> None:
        """Raises TableError if the transaction has ended."""
        if self.is_over:
            raise TableError(
                f"table {self.name}: the transaction has ended; what it wrote is read from the "
                "table, if it was committed: a scan of a transaction gives its rows within it"
            )

    def named_by(self, snapshot_id: int | None) -> int | None:
        """The snapshot of the table that names the files of a snapshot which are not its own.
        Raises TableError if the transaction has ended.
        """
        self.check_open()
        return self.base if snapshot_id in self.snapshots else snapshot_id


@dataclass(frozen=True)
class StagedSnapshots(Snapshots):
    """The snapshots of a table up to those of a transaction."""

    staged: StagedState = field(default_factory=lambda: StagedState("", None), compare=False)

    def latest_id(self) -> int | None:
        self.staged.check_open()
        return self.staged.latest_id

    def exists(self, snapshot_id: int) -> bool:
        if snapshot_id in self.staged.snapshots:
            return True
        return self._is_own(snapshot_id) and super().exists(snapshot_id)

    def ids(self) -> list[int]:
        return [*filter(self._is_own, super().ids()), *self.staged.snapshots]

    def find(self, snapshot_id: int) -> Snapshot | None:
        self.staged.check_open()
        found = self.staged.snapshots.get(snapshot_id)
        if found is not None or not self._is_own(snapshot_id):
            return found
        return super().find(snapshot_id)

    def publish(self, snapshot: Snapshot, base: Snapshot | None) -> bool:
        self.staged.check_open()
        self.staged.snapshots[snapshot.id] = snapshot
        return True

    def withdraw(self, snapshot_id: int) -> None:
        self.staged.snapshots.pop(snapshot_id, None)

    def _is_own(self, snapshot_id: int) -> bool:
        """Whether the table had this snapshot when the transaction began."""
        return snapshot_id <= (self.staged.base or 0)
