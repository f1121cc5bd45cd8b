"""The compaction that a write runs after its commit, in the buckets that it touched.

If writes of one table end at once, one compacts and the others leave their buckets to the next: two
would rewrite the same files, and one of them would lose. A write whose changes a changelog awaits
leaves nothing: it takes its turn, and compacts again after a conflict.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from keyfold.compact.running_job import CONFLICT, Load, compacted
from keyfold.compact.task_runner import TaskRunner
from keyfold.storage.metadata.entries import Place

Places = frozenset[Place]
_TRIES = 10  # of a compaction that a changelog awaits
_MOST_BEHIND = 32  # epochs that come while one compacts


@dataclass(eq=False)
class _Turn:
    """A compaction under way, and how many writes came meanwhile."""

    came: int = 0


class CompactionTurns:
    """The tables that compact after a write, by their locations."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all work."""
        self._changed = threading.Condition()
        self._waiting: dict[str, Places] = {}
        self._running: dict[str, _Turn] = {}

    def begin(self, table: str, touched: Places, *, awaited: bool) -> Places | None:
        """The buckets to compact, with those that others left; None while another is at work."""
        with self._changed:
            self._changed.wait_for(lambda: not awaited or table not in self._running)
            every = self._waiting.pop(table, frozenset()) | touched
            if (turn := self._running.get(table)) is not None:
                turn.came += 1
                self._waiting[table] = every
                return None
            self._running[table] = _Turn()
            return every

    def left(self, table: str) -> Places:
        """The buckets that others left since."""
        with self._changed:
            self._running[table].came = 0
            return self._waiting.pop(table, frozenset())

    def keep_up(self, table: str) -> None:
        """Wait until the compaction that is under way has ended, if many came since it began."""
        with self._changed:
            turn = self._running.get(table)
            if turn is not None and turn.came >= _MOST_BEHIND:
                self._changed.wait_for(lambda: self._running.get(table) is not turn)

    def end(self, table: str) -> None:
        """Let another begin."""
        with self._changed:
            self._running.pop(table, None)
            self._changed.notify_all()


TURNS = CompactionTurns()
os.register_at_fork(after_in_child=TURNS.begin_anew)  # a child has no thread of its parent


def compact_after_write(
    runner: TaskRunner,
    load: Load,
    location: str,
    touched: Places,
    *,
    awaited: bool,
    apart: bool = False,
) -> None:
    """Compact the buckets that a write touched if it is due. With `apart` the next writes do not
    wait for it, unless many came since it began, or a changelog awaits it.
    """
    buckets = TURNS.begin(location, touched, awaited=awaited)
    if buckets is None:
        if apart:
            TURNS.keep_up(location)
        return
    is_apart = apart and not awaited
    try:
        if is_apart:
            runner.apart()
        while buckets:
            _compact(runner, load, buckets, _TRIES if awaited else 1)
            buckets = TURNS.left(location) if is_apart else frozenset()
    finally:
        TURNS.end(location)


def _compact(runner: TaskRunner, load: Load, buckets: Places, tries: int) -> None:
    """Compact, again while other jobs are in the way."""
    title = "compact after a write"
    for _ in range(tries):
        rows = compacted(runner, load, "auto", title=title, rounds=1, touched=buckets)
        if all(row["status"] != CONFLICT for row in rows):
            return
    if tries > 1:
        table = load()
        does = "lets queries see them" if table.options.has_vectors else "emits their changes"
        runner.note(
            f"{table.layout.name}: other jobs replaced files of each of {tries} compactions; the "
            f"rows are written, and the next write, or CALL sys.compact, {does}",
            is_bad=True,
        )
