"""The files of one store, as metadata and data files are read, written, listed and removed.

Publishing means creating a file with its content at once and exclusively: if several processes
publish one name, exactly one wins. A store that can't do that is no store of tables. A new kind of
store is a class of `Files`; a new kind of object store is a `StoreKind`.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from keyfold.errors import NotSupportedError
from keyfold.stores.no_links import odd_place

MOST_BYTES = 64 << 20  # of a file that is read as a whole: metadata
Span = tuple[int, int]  # of bytes: the place of the first, and the place after the last


@dataclass(frozen=True)
class Entry:
    """A file or folder in a folder; `modified` is in ns since the epoch. Links are not followed."""

    name: str
    is_folder: bool
    size: int
    modified: int


class UnsettledError(OSError):
    """A publish got no answer: it may have taken place, or take place later."""


class Files(Protocol):
    """The files below `root`; paths are full ones, or URIs, without a trailing slash."""

    root: str
    options: Mapping[str, str]  # for a client (`settings`); tasks open the store anew with them

    @property
    def is_local(self) -> bool:
        """Whether a read needs no other machine, and folders can be renamed."""
        return False

    @property
    def keeps_folders(self) -> bool:
        """Whether a folder stays when nothing is in it any more."""
        return True

    def within(self, folder: str) -> "Files":
        """The store for the files of the table in a folder; no link inside it is followed."""
        return self

    # ---- reading ----

    def read(self, path: str) -> bytes:
        """The content; raises FileNotFoundError if the file is missing."""

    def open(self, path: str) -> pa.NativeFile:
        """A file that is read at any place. Raises FileNotFoundError if it is missing. A store with
        its own `tail` and `ranges` has no open files.
        """
        raise NotSupportedError(f"{path} is not opened: its store is asked for ranges")

    def tail(self, path: str, most: int) -> tuple[pa.Buffer, int]:
        """The last `most` bytes of a file, or all it has, and its size. Raises FileNotFoundError if
        the file is missing.
        """
        with self.open(path) as file:
            size = file.size()
            return pa.py_buffer(file.read_at(min(most, size), max(size - most, 0))), size

    def ranges(self, path: str, spans: Sequence[Span]) -> list[pa.Buffer]:
        """The bytes of these spans of a file, in as few requests as possible. Raises
        FileNotFoundError if the file is missing.
        """
        with self.open(path) as file:
            return [pa.py_buffer(file.read_at(stop - start, start)) for start, stop in spans]

    def exists(self, path: str) -> bool:
        """Whether a file is there."""

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""

    def reach(self, path: str) -> None:
        """Ask the store about a folder, for any answer. Raises what the store does."""
        self.is_folder(path)

    def entries(self, path: str) -> list[Entry]:
        """The files and folders in a folder; empty if it is missing."""

    def all_below(self, path: str) -> Iterator[tuple[str, Entry]] | None:
        """Each file below a folder, after the folder that it is in; None if folders have to be
        listed one by one.
        """
        return None

    def names(self, path: str) -> list[str]:
        """Names of everything in a folder; empty if it is missing."""
        return [entry.name for entry in self.entries(path)]

    def folders(self, path: str) -> list[str]:
        """Sorted names of the folders in a folder, hidden ones left out; empty if it is missing."""
        names = (entry.name for entry in self.entries(path) if entry.is_folder)
        return sorted(name for name in names if not name.startswith("."))

    def stamp(self, path: str) -> str:
        """A word that changes when the file is replaced. Raises FileNotFoundError if the file is
        missing.
        """

    def modified(self, path: str) -> int:
        """The time a file was written, in ns by the store's clock. Raises FileNotFoundError if it
        is missing, NotSupportedError as `remove_below` does.
        """
        raise NotSupportedError(f"{path} has no time by which it is removed: its folder is renamed")

    def stamps(self, paths: Sequence[str]) -> list[str]:
        """The stamp of each file, "" if it is missing: for looking whether anything has changed."""
        found = []
        for path in paths:
            try:
                found.append(self.stamp(path))
            except FileNotFoundError:
                found.append("")
        return found

    # ---- writing ----

    def create(self, path: str) -> pa.NativeFile:
        """A data file to write and close; its folders are made, and an old file is replaced."""

    def write(self, path: str, data: bytes) -> None:
        """Write a file whose name nobody else uses. Raises FileNotFoundError if the parent of its
        folder was removed.
        """

    def replace(self, path: str, data: bytes) -> None:
        """Write a file in one step; it replaces any file of that name."""

    def exchange(self, path: str, old: bytes, new: bytes) -> bool:
        """Write a file in one step in place of one with the content `old`; False if it has another
        by now, or is gone. File systems look right before; object stores do so in the same step.
        """
        with contextlib.suppress(FileNotFoundError):
            if self.read(path) != old:
                return False
            self.replace(path, new)
            return True
        return False

    def publish(self, path: str, data: bytes) -> int:
        """Create the file exclusively. The result is the time, in ns by the store's clock, or 0 if
        the file exists already. Raises UnsettledError if the outcome is not known.
        """

    def held(self, path: str) -> AbstractContextManager[str]:
        """A path to a folder that stays valid if the folder is renamed. Raises FileNotFoundError if
        the folder is missing.
        """

    def remove(self, path: str) -> None:
        """Remove a file if it is there."""

    def remove_all(self, paths: Sequence[str]) -> None:
        """Remove files that are there, in their order or many at once."""
        for path in paths:
            self.remove(path)

    def make_folder(self, path: str) -> None:
        """Make a folder and those it is in."""

    def remove_folder(self, path: str) -> bool:
        """Remove a folder and all its content; False if it was missing. A reader may see half of
        it unless folders can be renamed (`folders`).
        """

    def remove_below(self, path: str, chosen: Callable[[str, int], bool]) -> bool:
        """Remove the files below a folder that `chosen` picks by path and time of change; False if
        there is none. Raises NotSupportedError if tables are made aside and renamed in this store.
        """
        raise NotSupportedError(f"{path} is removed as a whole: its folder is renamed before")

    def move_folder(self, path: str, to: str) -> bool:
        """Give a folder another name; False if that is taken. Raises NotSupportedError if the store
        can't rename.
        """
        raise NotSupportedError(
            f"{path} can't be renamed to {to.rsplit('/', 1)[-1]}: its store has no rename"
        )


def check_size(path: str, size: int) -> None:
    """Raises CorruptDataError if a file of metadata is larger than any that a writer makes."""
    if size > MOST_BYTES:
        raise odd_place(path, f"it has {size} bytes; expected {MOST_BYTES} at most")
