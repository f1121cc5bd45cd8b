"""Outcomes of commits: the files of a failed job are deleted only if no snapshot refers to them and
none ever can.

This process remembers its own jobs. The outcome of a job whose process has died is in the
snapshots: each names the job that made it as its commit user.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from keyfold.errors import ConflictError, UnknownOutcomeError
from keyfold.storage.table import Table

_KEPT = 10_000


@dataclass
class Outcomes:
    """Jobs of this process: the snapshot each made, None while that is not known."""

    known: dict[str, int | None] = field(default_factory=dict)
    given_up: dict[str, None] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @contextlib.contextmanager
    def committing(self, table: Table, job: str) -> Iterator[int | None]:
        """A context for the commit of a job, with the snapshot that it has made already, or None.

        Raises UnknownOutcomeError if it may have made one, ConflictError if the job was given up.
        Waits for a commit of the job that is under way.
        """
        with self.changed:
            self.changed.wait_for(lambda: job not in self.running)
            if job in self.given_up:
                raise ConflictError(
                    f"commit to table {table.layout.name}: job {job} was aborted: run it again"
                )
            if job in self.known and self.known[job] is None:
                raise UnknownOutcomeError(
                    f"whether job {job} was committed to table {table.layout.name} is not known; "
                    "look at its snapshots before running it again"
                )
            self.running.add(job)
            known = self.known.get(job)
        try:
            yield known
        finally:
            with self.changed:
                self.running.discard(job)
                self.changed.notify_all()

    def remember(self, job: str, snapshot_id: int | None) -> None:
        """Remember that the job has made this snapshot; None: it may make one from here on."""
        with self.changed:
            _put(self.known, job, snapshot_id)

    def forget(self, job: str) -> None:
        """Forget the job, which is known to have made no snapshot."""
        with self.changed:
            self.known.pop(job, None)

    def give_up(self, job: str) -> bool:
        """Whether the files of a job may be deleted as far as this process knows. If so, it will
        make no snapshot any more. Waits for a commit of the job that is under way.
        """
        with self.changed:
            self.changed.wait_for(lambda: job not in self.running)
            if job in self.known:
                return False
            _put(self.given_up, job, None)
            return True


OUTCOMES = Outcomes()


def _put(into: dict[str, int | None] | dict[str, None], job: str, value: int | None) -> None:
    into[job] = value  # type: ignore[assignment]
    while len(into) > _KEPT:
        del into[next(iter(into))]


def snapshot_of(table: Table, job: str, planned: int | None, planned_by: str = "") -> int | None:
    """The snapshot that a job has made, in any process; None if it has made no snapshot.

    `planned` is a snapshot from before the job's commit, and `planned_by` the job that made that
    one: if it was rolled back since, the job's own may have any number. Raises UnknownOutcomeError
    if snapshots since have expired: the jobs that made them can't be read any more.
    """
    ids = sorted(table.snapshots.ids())
    first = 1 if _is_rolled_back(table, planned, planned_by, ids) else (planned or 0) + 1
    newer = [number for number in ids if number >= first - 1]  # its number may be the job's, too
    found = [table.snapshots.find(number) for number in newer]
    for snapshot in found:
        if snapshot is not None and snapshot.commit_user == job:
            return int(snapshot.id)
    if None in found or (newer and newer[0] > first):
        raise UnknownOutcomeError(
            f"whether job {job} was committed to table {table.layout.name} is not known: snapshots "
            f"made since it was planned (from {first} on) have expired; its data files were kept: "
            "look at the rows before running it again"
        )
    return None


def _is_rolled_back(table: Table, planned: int | None, by: str, ids: Sequence[int]) -> bool:
    """Whether a snapshot is gone though older ones, or one of its number, are among those `ids`."""
    if planned is None or not ids or ids[0] > planned:
        return False
    found = table.snapshots.find(planned)
    return found is None or (by != "" and found.commit_user != by)


def is_abandonable(table: Table, job: str, planned: int | None, planned_by: str = "") -> bool:
    """Whether a job's files may be deleted: no snapshot has them, and none will."""
    if not OUTCOMES.give_up(job):
        return False
    try:
        return snapshot_of(table, job, planned, planned_by) is None
    except UnknownOutcomeError:
        return False
