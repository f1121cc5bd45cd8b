"""A chain of small files, each the state that follows the one before: a counter in any store.

A file is named by its number and is created exclusively, so that of all processes which follow one
state exactly one succeeds. Old files are removed. A process that slept may then create the file of
an old number again: it is not the newest, and the one after it, if it is there, names another one
as the one before. The result is that its state does not count.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keyfold.errors import ConflictError, CorruptDataError
from keyfold.stores.files import Files, UnsettledError

_KEPT = 16  # files of a chain
_LOOKS = 100
_SECONDS = 120.0
_LONGEST = 1.0


@dataclass(frozen=True)
class Link:
    """One state of a chain; `name` is a word of its own, `after` that of the one before."""

    number: int
    name: str
    after: str
    state: Any


@dataclass(frozen=True)
class Chain:
    """The chain in a folder."""

    files: Files
    folder: str

    def newest(self) -> Link | None:
        """The newest state; None of a chain that has none."""
        for _ in range(_LOOKS):
            number = max(self._numbers(), default=0)
            if not number:
                return None
            found = self._read(number)
            if found is not None:
                return found
        raise CorruptDataError(f"the files in {self.folder} come and go")

    def follow(self, before: Link | None, state: Any) -> bool:
        """Make a state the one that follows `before`; False if another one does. Raises
        UnsettledError if that is not known.
        """
        number = 1 if before is None else before.number + 1
        after = "" if before is None else before.name
        own = Link(number, uuid.uuid4().hex, after, state)
        text = json.dumps({"name": own.name, "after": after, "state": state})
        if not self.files.publish(self._path(number), text.encode()):
            return False
        numbers = self._numbers()
        if max(numbers, default=number) > number:
            following = self._read(number + 1)
            if following is None or following.after != own.name:
                raise UnsettledError(f"{self._path(number)} was made after later ones")
        for old in sorted(numbers):
            if old <= number - _KEPT:
                self.files.remove(self._path(old))
        return True

    def _numbers(self) -> list[int]:
        return [int(name) for name in self.files.names(self.folder) if name.isdecimal()]

    def _path(self, number: int) -> str:
        return f"{self.folder}/{number}"

    def _read(self, number: int) -> Link | None:
        path = self._path(number)
        try:
            found = json.loads(self.files.read(path))
            return Link(number, str(found["name"]), str(found["after"]), found["state"])
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, LookupError) as error:
            raise CorruptDataError(f"{path}: expected a state of ids, found {error}") from error


def attempts(doing: str) -> Iterator[None]:
    """Attempts to follow a chain, with growing waits. Raises ConflictError after a time."""
    started, wait = time.monotonic(), 0.002
    while time.monotonic() - started < _SECONDS:
        yield
        time.sleep(random.uniform(0, wait))
        wait = min(2 * wait, _LONGEST)
    raise ConflictError(
        f"{doing}: other jobs were first again and again for {_SECONDS:.0f} s; run the job again"
    )
