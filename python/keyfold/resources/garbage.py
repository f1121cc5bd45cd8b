"""Garbage collections while many objects are made that stay: they find nothing, and cost as much as
the rest of a plan of a hundred thousand files.
"""

import functools
import gc
import os
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")
_RARELY = 50_000, 20, 100


class _Making:
    """The calls in this process that make many objects now."""

    def __init__(self) -> None:
        self.lock, self.calls, self.usual = threading.Lock(), 0, gc.get_threshold()

    def count(self, more: int) -> None:
        """One call begins or ends."""
        with self.lock:
            if not self.calls:  # what the program says by then
                self.usual = gc.get_threshold()
            self.calls += more
            gc.set_threshold(*(_RARELY if self.calls else self.usual))

    def begin_anew(self) -> None:
        """In a forked process, which has none of its parent's threads."""
        if self.calls:
            gc.set_threshold(*self.usual)
        self.lock, self.calls = threading.Lock(), 0


_MAKING = _Making()
os.register_at_fork(after_in_child=_MAKING.begin_anew)


def makes_many(make: Callable[Given, Made]) -> Callable[Given, Made]:
    """Wrap a function that makes many objects which stay: garbage is looked for rarely meanwhile,
    in all threads.
    """

    @functools.wraps(make)
    def rarely_collected(*args: Given.args, **named: Given.kwargs) -> Made:
        _MAKING.count(1)
        try:
            return make(*args, **named)
        finally:
            _MAKING.count(-1)

    return rarely_collected
