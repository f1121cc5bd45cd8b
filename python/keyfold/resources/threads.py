"""Work on several threads: kernels, decoders, sockets and files release Python's lock."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")
Working = Callable[[], AbstractContextManager[None]]
_LOOK_SECONDS = 0.1
_AHEAD = 2  # items that each thread makes before the consumer asks
_END = object()


class _Stopped(Exception):
    """The consumer has left."""


class Streams(Generic[Item]):
    """The items of several iterators, which threads make; in order of arrival. Each thread works
    within `working()`.
    """

    def __init__(
        self, makers: Sequence[Callable[[], Iterator[Item]]], threads: int, working: Working
    ) -> None:
        self._makers = iter(makers)
        self._working = working
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        count = min(threads, len(makers))
        self._made: queue.Queue[Item | BaseException | None] = queue.Queue(_AHEAD * count + 1)
        self._running = count
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]

    def __iter__(self) -> Iterator[Item]:
        """All items. Raises the first error of a thread; threads end with the loop."""
        for thread in self._threads:
            thread.start()
        try:
            while self._running:
                found = self._made.get()
                if found is None:
                    self._running -= 1
                elif isinstance(found, BaseException):
                    raise found
                else:
                    yield found
        finally:
            self._stopped.set()
            _drain(self._made)  # threads that wait for room go on, and see that all is stopped
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        try:
            with self._working():
                while (maker := self._next()) is not None:
                    for item in maker():
                        self._put(item)
            self._put(None)
        except _Stopped:
            return
        except BaseException as error:  # the consumer raises it
            try:
                self._put(error)
            except _Stopped:
                return

    def _next(self) -> Callable[[], Iterator[Item]] | None:
        with self._lock:
            return None if self._stopped.is_set() else next(self._makers, None)

    def _put(self, item: Item | BaseException | None) -> None:
        if not _offered(self._made, item, self._stopped):
            raise _Stopped


def _offered(to: queue.Queue[Any], item: object, stopped: threading.Event) -> bool:
    """Put an item into a queue; False if all is stopped before there is room."""
    while not stopped.is_set():
        with suppress(queue.Full):
            to.put(item, timeout=_LOOK_SECONDS)
            return True
    return False


def _drain(made: queue.Queue[Any]) -> None:
    with suppress(queue.Empty):
        while True:
            made.get_nowait()


def streamed(
    makers: Iterable[Callable[[], Iterator[Item]]], threads: int, working: Working
) -> Iterator[Item]:
    """The items of all iterators, made by at most `threads` threads."""
    return iter(Streams(list(makers), threads, working))


def done(
    jobs: Iterable[Callable[[], Made]], threads: int, working: Working
) -> Iterator[tuple[int, Made | Exception]]:
    """The result of each job or its error, with its place, in the order in which they end."""

    def made(place: int, job: Callable[[], Made]) -> Iterator[tuple[int, Made | Exception]]:
        try:
            yield place, job()
        except Exception as error:
            yield place, error

    return streamed([partial(made, *one) for one in enumerate(jobs)], threads, working)


def raised(results: Iterable[tuple[int, Made | Exception]]) -> Iterator[Made]:
    """The results of `done` alone. Raises the first error."""
    for _, found in results:
        if isinstance(found, Exception):
            raise found
        yield found


def fanned(
    items: Iterable[Item],
    thread_of: Callable[[Item], int],
    run: Callable[[Iterator[Item]], Made],
    threads: int,
    working: Working,
) -> list[Made | BaseException]:
    """The result of `run` in each thread, or its error. A thread gets the items that are its own by
    `thread_of`, in their order. If one fails, or the items do, the others are stopped.
    """
    fan = _Fan(run, threads, working)
    try:
        for item in items:
            if not fan.give(thread_of(item), item):
                break
    except BaseException as error:
        fan.stop()
        return [*fan.ended(), error]
    return fan.ended()


class _Fan(Generic[Item, Made]):
    """Threads that each take items of a queue of their own."""

    def __init__(
        self, run: Callable[[Iterator[Item]], Made], threads: int, working: Working
    ) -> None:
        self._run, self._working = run, working
        self._stopped = threading.Event()
        self._queues: list[queue.Queue[tuple[Item] | None]] = [
            queue.Queue(_AHEAD) for _ in range(threads)
        ]
        self._results: list[Made | BaseException] = []
        self._threads = [
            threading.Thread(target=self._work, args=(own,), daemon=True) for own in self._queues
        ]
        for thread in self._threads:
            thread.start()

    def give(self, thread: int, item: Item) -> bool:
        """Hand an item over; False if a thread has failed."""
        return _offered(self._queues[thread], (item,), self._stopped)

    def stop(self) -> None:
        """End all threads by an error, those too that wait for an item or for room."""
        self._stopped.set()
        for own in self._queues:
            _drain(own)
            with suppress(queue.Full):
                own.put_nowait(None)

    def ended(self) -> list[Made | BaseException]:
        """The results, once all threads have ended."""
        for own in self._queues:
            _offered(own, None, self._stopped)
        for thread in self._threads:
            thread.join()
        return self._results

    def _work(self, own: queue.Queue[tuple[Item] | None]) -> None:
        try:
            with self._working():
                self._results.append(self._run(self._taken(own)))
        except _Stopped:
            return
        except BaseException as error:  # the caller raises it
            self._results.append(error)
            self.stop()

    def _taken(self, own: queue.Queue[tuple[Item] | None]) -> Iterator[Item]:
        while True:
            given = own.get()
            if self._stopped.is_set():
                raise _Stopped
            if given is None:
                return
            yield given[0]


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Pass items on, some made before they are asked for; an exception comes in its place.

    The thread is a daemon: a caller that stops early ends the process or takes the other items.
    """
    ready: queue.Queue[object] = queue.Queue(_AHEAD)
    run = copy_context().run  # the session's functions are found there too
    thread = threading.Thread(target=run, args=(_make, items, ready), name="ahead", daemon=True)
    thread.start()
    while (item := ready.get()) is not _END:
        if isinstance(item, BaseException):
            raise item
        yield item  # type: ignore[misc]


def _make(items: Iterator[Item], ready: queue.Queue[object]) -> None:
    try:
        for item in items:
            ready.put(item)
    except BaseException as e:
        ready.put(e)
    else:
        ready.put(_END)
