"""What becomes of the files of a pick: merged, moved to another level as they are, or left alone.

Sections of overlapping files are merged, and so are small neighbours; a large file that overlaps
nothing only changes its level (Paimon's MergeTreeCompactTask), unless there is something in it that
ends here: deletes, and marks of partial rows, below which nothing older lies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from keyfold.compact.runs import BucketRun, Intervals
from keyfold.files.sections import KeyedFile, runs, sections

Files = tuple[KeyedFile, ...]


@dataclass(frozen=True)
class Group:
    """Neighbouring sections whose rows go to the same files; `oldest` says of each whether nothing
    older lies below it.
    """

    sections: tuple[Files, ...]
    oldest: tuple[bool, ...]

    @property
    def files(self) -> Files:
        return tuple(keyed for section in self.sections for keyed in section)

    @property
    def bytes(self) -> int:
        return sum(keyed.file.size for keyed in self.files)


@dataclass(frozen=True)
class Work:
    """What is to be done about a pick, in key order."""

    groups: tuple[Group, ...]
    upgraded: Files

    @property
    def bytes(self) -> int:
        """Bytes of the files that are read and written again."""
        return sum(group.bytes for group in self.groups)


def work(
    picked: Sequence[BucketRun],
    stays: Sequence[BucketRun],
    level: int,
    small: float,
    *,
    keeps_oldest: bool = False,
    lacking: Collection[int] = (),
) -> Work:
    """What is to be done; files of less than `small` bytes are joined with their neighbours. With
    `keeps_oldest` a file is written again without the keys of what stays below; files of the
    schemas `lacking` are in any case.
    """
    below = Intervals([keyed for run in stays for keyed in run.files])
    sorter = _Sorter(level, small, below, keeps_oldest, lacking)
    for section in sections(keyed for run in picked for keyed in run.files):
        found = runs(section)
        if len(found) > 1:
            sorter.merge(section)
        else:
            for keyed in section:
                sorter.alone(keyed)
    sorter.flush()
    return Work(tuple(sorter.groups), tuple(sorter.upgraded))


class _Sorter:
    """Files in key order, sorted into groups."""

    def __init__(
        self,
        level: int,
        small: float,
        below: Intervals,
        keeps_oldest: bool,
        lacking: Collection[int],
    ) -> None:
        self._level, self._small, self._below = level, small, below
        self._keeps_oldest, self._lacking = keeps_oldest, lacking
        self._held: list[Files] = []
        self.groups: list[Group] = []
        self.upgraded: list[KeyedFile] = []

    def merge(self, section: Files) -> None:
        """Files that overlap."""
        self._held.append(section)

    def alone(self, keyed: KeyedFile) -> None:
        """A file that overlaps none of the pick."""
        if keyed.file.size < self._small or self._ends_here(keyed):
            self._held.append((keyed,))
            return
        self.flush()
        self._upgrade(keyed)

    def flush(self) -> None:
        """Close the group, as far as there is anything to merge in it."""
        held, self._held = self._held, []
        is_single = len(held) == 1 and len(held[0]) == 1
        if is_single and not self._ends_here(held[0][0]):
            self._upgrade(held[0][0])
        elif any(map(self._has_reason, held)):
            self.groups.append(Group(tuple(held), tuple(map(self._is_oldest, held))))

    def _upgrade(self, keyed: KeyedFile) -> None:
        if keyed.file.level != self._level:
            self.upgraded.append(keyed)

    def _has_reason(self, section: Files) -> bool:
        """Whether a section is more than one more small file that is at its level already: those
        are joined only where they adjoin what is written anyhow.
        """
        keyed = section[0]
        return len(section) > 1 or keyed.file.level != self._level or self._ends_here(keyed)

    def _is_oldest(self, section: Files) -> bool:
        return not self._below.touch(section[0].first, max(keyed.last for keyed in section))

    def _ends_here(self, keyed: KeyedFile) -> bool:
        """Whether rewriting the file alone takes something out of it: deletes, marks, keys; or
        puts something into it that it lacks.
        """
        if keyed.file.schema_id in self._lacking:
            return True
        has_any = keyed.file.delete_rows != 0 or keyed.file.is_marked
        if self._is_oldest((keyed,)):
            return has_any
        return self._keeps_oldest and keyed.file.level == 0
