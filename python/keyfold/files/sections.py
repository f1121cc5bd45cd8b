"""Files of a bucket cut into sections of overlapping keys, and sections into sorted runs.

Sections don't share keys, so each is read by itself. A run holds every key once: it has the files
of one level above 0, or those one job wrote. Runs that are neighbours in sequence order are joined
if their keys don't touch. So runs stay few, and sequence ranges that were apart stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from keyfold.wire.specs import Section

Key = tuple[Any, ...]


class Sequenced(Protocol):
    """A data file with the least and greatest sequence number of its records."""

    @property
    def min_sequence(self) -> int: ...

    @property
    def max_sequence(self) -> int: ...


class KeyedFile(Sequenced, Protocol):
    """A data file with its first and last key, as tuples that compare in key order."""

    @property
    def level(self) -> int: ...

    @property
    def first(self) -> Key: ...

    @property
    def last(self) -> Key: ...


File = TypeVar("File", bound=KeyedFile)
Item = TypeVar("Item")


def sections(files: Iterable[File]) -> list[tuple[File, ...]]:
    """Groups of files whose key ranges overlap, in key order."""
    found = list(files)
    if len(found) == 1:  # of most buckets of a large table: keys stay bytes
        return [(found[0],)]
    ordered = sorted(found, key=lambda f: (f.first, f.last))
    groups: list[list[File]] = []
    reach: Key = ()
    for file in ordered:
        if groups and file.first <= reach:
            groups[-1].append(file)
            reach = max(reach, file.last)
        else:
            groups.append([file])
            reach = file.last
    return [tuple(group) for group in groups]


def runs(files: Sequence[File]) -> tuple[tuple[File, ...], ...]:
    """The sorted runs of one section, ordered by their greatest sequence number."""
    if len(files) == 1:
        return (tuple(files),)
    joined: list[tuple[File, ...]] = []
    for piece in sorted(_pieces(files), key=lambda piece: sequence_range(piece)[::-1]):
        together = _join(joined[-1], piece) if joined else None
        if together is None:
            joined.append(piece)
        else:
            joined[-1] = together
    return tuple(joined)


def sections_of_runs(files: Iterable[File]) -> tuple[tuple[tuple[File, ...], ...], ...]:
    """The sections of files, each as its runs."""
    return tuple(runs(section) for section in sections(files))


def sequence_range(files: Sequence[Sequenced]) -> tuple[int, int]:
    """The least and the greatest sequence number."""
    return min(f.min_sequence for f in files), max(f.max_sequence for f in files)


def packed(
    items: Iterable[Item], weight: Callable[[Item], float], most: float
) -> Iterator[list[Item]]:
    """Groups of neighbours that weigh at most `most`; an item that weighs more is by itself."""
    held: list[Item] = []
    total = 0.0
    for item in items:
        size = weight(item)
        if held and total + size > most:
            yield held
            held, total = [], 0.0
        held.append(item)
        total += size
    if held:
        yield held


def needs_sequence(section: Section) -> bool:
    """Whether run order alone doesn't decide which row of a key is newer."""
    reach: int | None = None
    for run in section:
        if reach is not None and min(file.min_sequence for file in run) <= reach:
            return True
        reach = max(file.max_sequence for file in run)
    return False


def by_origin(files: Iterable[File]) -> dict[tuple[int, int, int], list[File]]:
    """The files of each level above 0, and of each sequence range on level 0: its negative greatest
    and least number, so that later origins come first in order.
    """
    found: dict[tuple[int, int, int], list[File]] = {}
    for file in files:
        numbers = (0, 0) if file.level else (-file.max_sequence, -file.min_sequence)
        found.setdefault((file.level, *numbers), []).append(file)
    return found


def _pieces(files: Sequence[File]) -> Iterator[tuple[File, ...]]:
    """Runs by their origin; a run whose keys touch is taken apart."""
    for group in by_origin(files).values():
        yield from disjoint(group)


def disjoint(files: Sequence[File]) -> list[tuple[File, ...]]:
    """The files of one origin, in key order, in as few lists as possible without touching keys:
    one list if the origin is sound.
    """
    pieces: list[list[File]] = []
    for file in sorted(files, key=lambda f: f.first):
        for piece in pieces:
            if piece[-1].last < file.first:
                piece.append(file)
                break
        else:
            pieces.append([file])
    return [tuple(piece) for piece in pieces]


def _join(older: tuple[File, ...], newer: tuple[File, ...]) -> tuple[File, ...] | None:
    """Both as one run if no keys touch."""
    files = sorted((*older, *newer), key=lambda f: f.first)
    touches = any(a.last >= b.first for a, b in pairwise(files))
    return None if touches else tuple(files)
