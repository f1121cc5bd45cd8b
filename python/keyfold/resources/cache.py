"""A bounded cache for all threads of a process."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Kept = TypeVar("Kept")


class Cache(Generic[Kept]):
    """The things used last, of a total `weight` of `most`; at least one thing, however heavy."""

    def __init__(self, most: int, weight: Callable[[Any], int] = lambda _: 1) -> None:
        self._most, self._weight = most, weight
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()
        _ALL.add(self)

    @property
    def total(self) -> int:
        """The weight of everything that is kept."""
        return self._total

    def get(self, key: Hashable) -> Kept | None:
        """The value kept under the key, None if the key has no value."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Hashable, value: Kept) -> None:
        """Keep one more; beyond the bound the values used least recently are dropped."""
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = value
            self._total += self._weight(value)
            self._shrink()

    def bound(self, most: int) -> None:
        """Keep no more than this from now on."""
        with self._lock:
            self._most = min(self._most, most)
            self._shrink()

    def _shrink(self) -> None:
        while self._total > self._most and len(self._kept) > 1:
            self._total -= self._weight(self._kept.popitem(last=False)[1])

    def drop(self, key: Hashable) -> None:
        """Keep it no longer."""
        with self._lock:
            if key in self._kept:
                self._total -= self._weight(self._kept.pop(key))

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()
            self._total = 0

    def begin_anew(self) -> None:
        """In a forked process: another thread of its parent may be within a method for ever."""
        if self._lock.locked():
            self._lock = threading.Lock()
            self.clear()


_ALL: weakref.WeakSet[Cache[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    for cache in list(_ALL):
        cache.begin_anew()


os.register_at_fork(after_in_child=_after_fork)
