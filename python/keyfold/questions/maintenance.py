"""Expiry of snapshots and removal of orphan files (driver side): by question, and after commits.

After a commit a thread of the process expires due snapshots, so that no job waits for it. If the
process ends before it is done, the next commit does the rest.
"""

import sys
import threading
import time
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.files.paths import bucket_path
from keyfold.options import TableOptions, normalize
from keyfold.questions.call_options import with_options
from keyfold.questions.serve import Questions
from keyfold.storage.maintenance.expire import Directory, Retention, check_expirable, expire
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.storage.metadata.entries import partition_batch
from keyfold.storage.table import Table, open_handle

FAREWELL_SECONDS = 0.8
ROUND = 500  # snapshots of one pass, whose dropped files are held in memory
QUESTIONS = Questions()


class Expiry:
    """Owns the thread that expires snapshots; a table waits in it once at most."""

    def __init__(self) -> None:
        self._waiting: dict[str, Table] = {}
        self._changed = threading.Condition()
        self._is_running = False

    def begin(self, table: Table) -> None:
        """Expire the table's due snapshots, soon."""
        with self._changed:
            self._waiting[table.layout.location] = table
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="expiry", daemon=True).start()

    def finish(self, seconds: float) -> bool:
        """Wait until nothing is due, at most `seconds`; True if nothing is then."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_running, seconds)

    def _run(self) -> None:
        while (table := self._next()) is not None:
            expire_quietly(table)

    def _next(self) -> Table | None:
        with self._changed:
            if self._waiting:
                return self._waiting.pop(next(iter(self._waiting)))
            self._is_running = False
            self._changed.notify_all()
            return None


EXPIRY = Expiry()


def after_commit(table: Table) -> None:
    """Begin the expiry of old snapshots, unless the table is write-only."""
    options = table.options
    if options.write_only:
        return
    if options.snapshot_expire_mode == "sync":
        expire_quietly(table)
    else:
        EXPIRY.begin(table)


def expire_quietly(table: Table) -> None:
    """Expire by the table's options; a failure is only logged, as the next commit tries again."""
    try:
        check_expirable(table)
        expire(table, Retention.of(table), directory_of(table))
    except Exception as error:
        name = table.layout.name
        print(f"keyfold: snapshots of table {name} did not expire: {error}", file=sys.stderr)


def directory_of(table: Table) -> Directory:
    """The folder of the files of a partition's bucket."""
    layout = table.layout
    return lambda values, bucket: bucket_path(layout, partition_batch(layout, values), bucket)


@QUESTIONS.plain
def expire_snapshots(question: Frame) -> dict[str, Any]:
    """Do one pass of an expiry by the table's options or the question's. The answer is how many
    snapshots it deleted and whether to ask for another pass. `deleted` counts those before.

    Every snapshot that may go does, unless the question has `snapshot.expire.limit` or
    `max_deletes`.
    """
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    check_expirable(table)
    asked = question.get("options") or {}
    table = with_options(table, asked)
    older_than, most = question.get("older_than_millis"), question.get("max_deletes")
    if most is None and TableOptions.snapshot_expire_limit.name in normalize(asked):
        most = table.options.snapshot_expire_limit
    left = None if most is None else most - question.get("deleted", 0)
    retention = Retention.of(
        table,
        at_most=question.get("retain_max"),
        at_least=question.get("retain_min"),
        seconds=None if older_than is None else time.time() - older_than / 1000,
        limit=ROUND if left is None else min(left, ROUND),
    )
    deleted = expire(table, retention, directory_of(table))
    return {"deleted": deleted, "more": deleted > 0 and deleted != left}


@QUESTIONS.plain
def remove_orphan_files(question: Frame) -> dict[str, Any]:
    """Remove or list files that nothing refers to; returns paths, their number and bytes."""
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    table.check_writable()
    older_than = question.get("older_than_millis")
    seconds = None if older_than is None else older_than / 1000
    orphans = remove_orphans(table, seconds, dry_run=bool(question.get("dry_run")))
    return {
        "files": [orphan.path for orphan in orphans],
        "count": len(orphans),
        "bytes": sum(orphan.bytes for orphan in orphans),
    }
