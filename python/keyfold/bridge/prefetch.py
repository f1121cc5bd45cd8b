"""Work ahead: an iterator's next items are made in a thread while the current one is used.

The reader decodes while the JVM takes sent batches. The writer merges while the JVM sends more.
numba kernels, Arrow and sockets all release the interpreter lock.
"""

import queue
import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
_END = object()


def ahead(items: Iterator[Item], depth: int = 2) -> Iterator[Item]:
    """The same items, at most `depth` made before they are asked for, and the same exception.

    The thread is a daemon: a caller that stops early ends the process or takes the other items.
    """
    ready: queue.Queue[object] = queue.Queue(depth)
    run = copy_context().run  # the session's functions are found there too
    thread = threading.Thread(target=run, args=(_make, items, ready), name="ahead", daemon=True)
    thread.start()
    while (item := ready.get()) is not _END:
        if isinstance(item, _Failure):
            raise item.error
        yield item  # type: ignore[misc]


def _make(items: Iterator[Item], ready: "queue.Queue[object]") -> None:
    try:
        for item in items:
            ready.put(item)
    except BaseException as e:
        ready.put(_Failure(e))
    else:
        ready.put(_END)


class _Failure:
    """An exception on its way from one thread to the other."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
