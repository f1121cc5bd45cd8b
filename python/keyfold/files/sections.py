"""Files of a bucket cut into sections of overlapping keys, and sections into sorted runs.

Sections don't share keys, so each is read by itself. Within a run every key stands once: the files
of one level above 0, or those one job wrote; neighbours in sequence order are joined where their
keys don't touch, so runs stay few and their sequence ranges apart wherever they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from keyfold.wire.specs import DataFile, Section

Key = tuple[Any, ...]


@dataclass(frozen=True)
class KeyedFile:
    """A file with its first and last key, as tuples that compare in key order; `last_key` as
    stored.
    """

    file: DataFile
    first: Key
    last: Key
    last_key: Key = ()


@dataclass(frozen=True)
class _Piece:
    """Files with disjoint keys in key order."""

    files: tuple[KeyedFile, ...]

    @property
    def sequence(self) -> tuple[int, int]:
        numbers = [file.file for file in self.files]
        return min(n.min_sequence for n in numbers), max(n.max_sequence for n in numbers)


def sections(files: Iterable[KeyedFile]) -> list[tuple[KeyedFile, ...]]:
    """Groups of files whose key ranges overlap, in key order."""
    ordered = sorted(files, key=lambda f: (f.first, f.last))
    groups: list[list[KeyedFile]] = []
    reach: Key = ()
    for file in ordered:
        if groups and file.first <= reach:
            groups[-1].append(file)
            reach = max(reach, file.last)
        else:
            groups.append([file])
            reach = file.last
    return [tuple(group) for group in groups]


def runs(files: Sequence[KeyedFile]) -> Section:
    """The sorted runs of one section, ordered by their greatest sequence number."""
    pieces = sorted(_pieces(files), key=lambda p: (p.sequence[1], p.sequence[0]))
    joined: list[_Piece] = []
    for piece in pieces:
        together = _join(joined[-1], piece) if joined else None
        if together is None:
            joined.append(piece)
        else:
            joined[-1] = together
    return tuple(tuple(file.file for file in piece.files) for piece in joined)


def needs_sequence(section: Section) -> bool:
    """Whether run order alone doesn't decide which row of a key is newer."""
    reach: int | None = None
    for run in section:
        if reach is not None and min(file.min_sequence for file in run) <= reach:
            return True
        reach = max(file.max_sequence for file in run)
    return False


def _pieces(files: Sequence[KeyedFile]) -> Iterator[_Piece]:
    """Runs given by level above 0, or by equal sequence ranges on level 0, taken apart if keys
    touch.
    """
    by_origin: dict[tuple[int, int, int], list[KeyedFile]] = {}
    for keyed in files:
        file = keyed.file
        numbers = (0, 0) if file.level else (file.min_sequence, file.max_sequence)
        by_origin.setdefault((file.level, *numbers), []).append(keyed)
    for group in by_origin.values():
        yield from map(_Piece, disjoint(group))


def disjoint(files: Sequence[KeyedFile]) -> list[tuple[KeyedFile, ...]]:
    """The files of one origin, in key order, as few pieces as have no touching keys: one, if the
    origin is sound.
    """
    pieces: list[list[KeyedFile]] = []
    for file in sorted(files, key=lambda f: f.first):
        for piece in pieces:
            if piece[-1].last < file.first:
                piece.append(file)
                break
        else:
            pieces.append([file])
    return [tuple(piece) for piece in pieces]


def _join(older: _Piece, newer: _Piece) -> _Piece | None:
    """Both as one piece if no keys touch."""
    files = sorted((*older.files, *newer.files), key=lambda f: f.first)
    touches = any(a.last >= b.first for a, b in pairwise(files))
    return None if touches else _Piece(tuple(files))
