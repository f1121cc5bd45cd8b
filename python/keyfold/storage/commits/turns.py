"""Turns of the commits to a table: threads of this process go in the order in which they came, and
a commit that loses a race with another process tries again until the table's time-out.
"""

import contextlib
import os
import random
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from keyfold.errors import ConflictError
from keyfold.storage.table import Table

_PATIENCE = 4  # the longest wait, in attempts: more would let those win who have just come
_DOUBLINGS = 30


@dataclass(frozen=True, eq=False)
class _Waiting:
    thread: int
    comes: threading.Event = field(default_factory=threading.Event)


class Turns:
    """The order of threads that wait for a turn, by table. Without an order a thread may lose to
    its neighbours for ever.
    """

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all that wait: a child has no thread of its parent."""
        self._lock = threading.Lock()
        self._queues: dict[str, deque[_Waiting]] = {}

    @contextlib.contextmanager
    def taken(self, table: Table) -> Iterator[None]:
        """A context in which no other thread of this process commits to the table. The thread
        whose turn it is may commit within it.
        """
        mine, name = _Waiting(threading.get_ident()), table.layout.home
        with self._lock:
            queue = self._queues.setdefault(name, deque())
            is_within = bool(queue) and queue[0].thread == mine.thread
            queue.insert(0, mine) if is_within else queue.append(mine)
            if queue[0] is mine:
                mine.comes.set()
        try:
            mine.comes.wait()
            yield
        finally:
            self._leave(name, mine)

    def _leave(self, name: str, mine: _Waiting) -> None:
        with self._lock:
            queue = self._queues.get(name, deque())
            if mine in queue:  # not so in a child that was forked meanwhile
                queue.remove(mine)
            if queue:
                queue[0].comes.set()
            else:
                self._queues.pop(name, None)


TURNS = Turns()
os.register_at_fork(after_in_child=TURNS.begin_anew)


def tries(table: Table) -> Iterator[int]:
    """Numbers of attempts, after waits that grow to some times what an attempt takes. Raises
    ConflictError if the last one lost: when the time is over, or after the retries, if the table
    has a number of them.
    """
    options, started = table.options, time.monotonic()
    lost = 0
    while True:
        began = time.monotonic()
        yield lost
        lost, now = lost + 1, time.monotonic()
        most = options.commit_max_retries
        if now - started > options.commit_timeout or (most is not None and lost > most):
            break
        least = options.commit_min_retry_wait
        grown = least * 2.0 ** min(lost, _DOUBLINGS)
        enough = max(2 * least, _PATIENCE * (now - began))
        time.sleep(random.uniform(least / 2, min(grown, enough, options.commit_max_retry_wait)))
    retries = "" if most is None else f" or commit.max-retries ({most})"
    raise ConflictError(
        f"commit to table {table.layout.name}: other jobs published first {lost} times in "
        f"{now - started:.1f} s; run the job again, or raise commit.timeout "
        f"({options.commit_timeout:.0f} s){retries}"
    )
