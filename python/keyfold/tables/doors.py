"""The doors of the Python door: what users call. Arguments are checked, and a disk or store that
refuses is told as keyfold's own error, with what failed and of which table, also while rows are
read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isfunction, isgenerator
from typing import Any, TypeVar

from keyfold.errors import TableError
from keyfold.stores.refusals import explained
from keyfold.tables.argument_types import Arguments

Door = TypeVar("Door", bound=type)


@contextmanager
def as_store_errors(doing: str) -> Iterator[None]:
    """Within its block, a StoreError stands for an OSError."""
    try:
        yield
    except OSError as error:
        raise explained(error, doing) from error


def doors(subject: Callable[[Any], str]) -> Callable[[Door], Door]:
    """Makes each public method and property of a class check its arguments and raise errors of
    stores as keyfold's; `subject` gives the words for what the object is.
    """

    def made(door: Door) -> Door:
        for name, found in list(vars(door).items()):
            if name.startswith("_") and name not in ("__getitem__", "__arrow_c_stream__"):
                continue
            if isfunction(found):
                setattr(door, name, _checked(found, name, subject))
            elif isinstance(found, property) and found.fget is not None:
                fget = _checked(found.fget, name, subject)
                setattr(door, name, property(fget, doc=found.__doc__))
        return door

    return made


def _checked(function: Callable[..., Any], name: str, subject: Callable[[Any], str]) -> Any:
    arguments = Arguments(function)

    @functools.wraps(function)
    def called(self: Any, *args: Any, **named: Any) -> Any:
        try:
            wrong = arguments.wrong((self, *args), named) if args or named else None
            if wrong is not None:
                raise TableError(f"{name} of {subject(self)}: {wrong}")
            found = function(self, *args, **named)
        except OSError as error:
            raise explained(error, f"{name} of {subject(self)}") from error
        return _each(found, f"{name} of {subject(self)}") if isgenerator(found) else found

    return called


def _each(items: Iterator[Any], doing: str) -> Iterator[Any]:
    with as_store_errors(doing):
        yield from items
