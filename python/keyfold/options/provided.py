"""Look-up of users' own aggregates and engines, in the functions the current question came with.

One process answers for several sessions, each with its own functions. So the handler of a question
sets, while it runs, where to look. keyfold's own names are never looked up here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol

Kind = Literal["aggregates", "engines"]


class Finder(Protocol):
    """Knows the functions of one session; names are as `aggregates.spelling` makes them."""

    def find(self, kind: Kind, name: str) -> Any:
        """The declaration of that name; None if there is not one."""

    def names(self, kind: Kind) -> list[str]:
        """All names."""

    def explain(self, kind: Kind) -> str:
        """The places that were searched, what failed there, and how to add a function."""


_CURRENT: ContextVar[Finder | None] = ContextVar("keyfold_functions", default=None)


@contextmanager
def by(finder: Finder) -> Iterator[None]:
    """Look in `finder`, until the end of the block and in this thread."""
    before = _CURRENT.set(finder)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def find(kind: Kind, name: str) -> Any:
    """A user's aggregate or merge engine; None if there is not one."""
    finder = _CURRENT.get()
    return None if finder is None else finder.find(kind, name)


def names(kind: Kind) -> list[str]:
    """The names of users' functions."""
    finder = _CURRENT.get()
    return [] if finder is None else finder.names(kind)


def explain(kind: Kind) -> str:
    """A sentence or more for the error about an unknown name, each with a space in front."""
    finder = _CURRENT.get()
    return "" if finder is None else f" {finder.explain(kind)}"
