"""Tags that follow a commit, and the expiry of tags and snapshots, in a thread of the process, so
that no job waits.

If the process ends before it is done, the next commit does the rest.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from keyfold.storage.maintenance.automatic import expire_due, tag_due
from keyfold.storage.maintenance.expire import check_expirable, expire
from keyfold.storage.maintenance.retained import Retention
from keyfold.storage.table import Table

FAREWELL_SECONDS = 0.8
ROUND = 500  # snapshots of one pass, whose dropped files are held in memory


class Expiry:
    """Owns the thread that expires snapshots; a table waits in it once at most."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget the thread and what waits."""
        self._waiting: dict[str, Table] = {}
        self._changed = threading.Condition()
        self._is_running = False

    def begin(self, table: Table) -> None:
        """Expire the table's due snapshots, soon."""
        with self._changed:
            self._waiting[table.layout.home] = table
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
os.register_at_fork(after_in_child=EXPIRY.begin_anew)  # a child has no thread of its parent


def followed(table: Table, published: int | None) -> int | None:
    """The snapshot that a commit made, None if nothing changed; begins what follows a commit."""
    if published is not None:
        after_commit(table)
    return published


def after_commit(table: Table) -> None:
    """Tag what is due, and begin the expiry of tags and old snapshots; not if the table is
    write-only.
    """
    options = table.options
    if options.write_only:
        return
    with _logged("tags of table", table, "were not made"):
        tag_due(table)
    if options.snapshot_expire_mode == "sync":
        expire_quietly(table)
    else:
        EXPIRY.begin(table)


def expire_quietly(table: Table) -> None:
    """Expire by the table's options; a failure is only logged, as the next commit tries again."""
    with _logged("tags of table", table, "did not expire"):
        expire_due(table)
    with _logged("snapshots of table", table, "did not expire"):
        check_expirable(table)
        expire(table, Retention.of(table))


@contextlib.contextmanager
def _logged(what: str, table: Table, failure: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        print(f"keyfold: {what} {table.layout.name} {failure}: {error}", file=sys.stderr)
