"""Libraries that keyfold does not need: they are loaded where a user asks for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, TypeVar

from keyfold.errors import EnvironmentMismatchError

Item = TypeVar("Item")


def library(name: str, what: str) -> Any:
    """The library. Raises EnvironmentMismatchError, on behalf of `what`, if it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise EnvironmentMismatchError(
            f"{what} needs {name}, which this Python ({sys.executable}) does not have: "
            f"pip install {name}"
        ) from error


def is_of(name: str, thing: object) -> bool:
    """Whether a thing's class is of a library, which need not be loaded."""
    return any(kind.__module__.partition(".")[0] == name for kind in type(thing).__mro__)


def progress(items: Iterator[Item], total: int, what: str) -> Iterator[Item]:
    """The items, counted by a bar of tqdm where that is installed and stderr is a terminal."""
    if not sys.stderr.isatty():
        return items
    try:
        bar = import_module("tqdm").tqdm
    except ModuleNotFoundError:
        return items
    shown: Iterator[Item] = iter(bar(items, total=total, desc=what, leave=False, mininterval=0))
    return shown
