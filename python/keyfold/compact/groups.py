"""The fate of each file of a pick: merged, moved to another level as it is, or left alone.

Sections of overlapping files are merged, and so are small neighbours. A large file that overlaps
nothing only changes its level (Paimon's MergeTreeCompactTask). It is written again if it holds
deletes or marks of partial rows and nothing older is below them: they end here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from keyfold.compact.kept_deletes import NONE, first_kept
from keyfold.compact.pick import BucketRun, Intervals
from keyfold.files.sections import runs, sections
from keyfold.options.changelogs import changelog_level
from keyfold.options.declared import TableOptions
from keyfold.storage.metadata.entries import LiveFile

Files = tuple[LiveFile, ...]


@dataclass(frozen=True)
class Group:
    """Neighbouring sections whose rows go to the same files. `oldest` has a flag for each section:
    nothing older is below it.
    """

    sections: tuple[Files, ...]
    oldest: tuple[bool, ...]

    @property
    def files(self) -> Files:
        return tuple(file for section in self.sections for file in section)

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Work:
    """The work that a pick needs, in key order."""

    groups: tuple[Group, ...]
    upgraded: Files

    @property
    def bytes(self) -> int:
        """The bytes of the files that are read and written again."""
        return sum(group.bytes for group in self.groups)


@dataclass(frozen=True)
class Rewriting:
    """The rules by which a file is written again. Files of less than `small` bytes are joined with
    their neighbours. With `looks_below` a file of level 0 is written again if files that stay below
    may hold its keys. Files of the schemas `lacking` are written again in any case, and those whose
    changes are not in the changelog (below `changelog_level`) if they are written to it now.
    Deletes of numbers from `first_kept` on stay. Files with rows that are too old (`may_hold_old`)
    are written again without these if the changes of their level are in the changelog, and with
    `drops_marked` those of whose rows deletion vectors mark some.
    """

    small: float
    looks_below: bool = False
    lacking: Collection[int] = ()
    changelog_level: int = 0
    first_kept: int = NONE
    may_hold_old: Callable[[LiveFile], bool] = lambda _: False
    drops_marked: bool = False

    @staticmethod
    def of(
        options: TableOptions, lacking: Collection[int], may_hold_old: Callable[[LiveFile], bool]
    ) -> Rewriting:
        """The rules of a table."""
        small = options.compaction_small_file_ratio * options.target_file_size
        looks_below = options.engine.keeps_oldest or options.has_vectors
        level = changelog_level(options)
        return Rewriting(small, looks_below, lacking, level, first_kept(options), may_hold_old)


def work(
    picked: Sequence[BucketRun], stays: Sequence[BucketRun], level: int, rules: Rewriting
) -> Work:
    """The work for a pick, whose files go to a level."""
    below = Intervals([file for run in stays for file in run.files])
    sorter = Sorter(level, below, rules)
    for section in sections(file for run in picked for file in run.files):
        found = runs(section)
        if len(found) > 1:
            sorter.merge(section)
        else:
            for file in section:
                sorter.alone(file)
    sorter.flush()
    return Work(tuple(sorter.groups), tuple(sorter.upgraded))


class Sorter:
    """Files in key order, sorted into groups."""

    def __init__(self, level: int, below: Intervals, rules: Rewriting) -> None:
        self._level, self._below, self._rules = level, below, rules
        self._emits = rules.changelog_level <= level
        self._changelog_level = rules.changelog_level if self._emits else 0
        self._held: list[Files] = []
        self.groups: list[Group] = []
        self.upgraded: list[LiveFile] = []

    def merge(self, section: Files) -> None:
        """Take files that overlap."""
        self._held.append(section)

    def alone(self, file: LiveFile) -> None:
        """Take a file that overlaps no other file of the pick."""
        if file.size < self._rules.small or self.ends_here(file):
            self._held.append((file,))
            return
        self.flush()
        self._upgrade(file)

    def flush(self) -> None:
        """Close the group, which becomes work only if it holds something to merge."""
        held, self._held = self._held, []
        is_single = len(held) == 1 and len(held[0]) == 1
        if is_single and not self.ends_here(held[0][0]):
            self._upgrade(held[0][0])
        elif any(map(self.has_reason, held)):
            self.groups.append(Group(tuple(held), tuple(map(self._is_oldest, held))))

    def _upgrade(self, file: LiveFile) -> None:
        if file.level != self._level:
            self.upgraded.append(file)

    def has_reason(self, section: Files) -> bool:
        """Whether a section is more than a small file that is already at its level. Such files are
        joined only if they adjoin a section that is written anyhow.
        """
        file = section[0]
        return len(section) > 1 or file.level != self._level or self.ends_here(file)

    def _is_oldest(self, section: Files) -> bool:
        return not self._below.touch(section[0].first, max(file.last for file in section))

    def ends_here(self, file: LiveFile) -> bool:
        """Whether a rewrite of the file alone takes something out of it (deletes, marks, keys, rows
        that are too old), adds something that it lacks, or writes its changes to the changelog.
        """
        is_due = file.schema_id in self._rules.lacking or file.level < self._changelog_level
        if is_due or (self._rules.drops_marked and file.vector is not None):
            return True
        has_deletes = file.delete_rows != 0 and file.max_sequence < self._rules.first_kept
        has_any = has_deletes or file.is_marked
        if self._is_oldest((file,)):
            return has_any or (self._emits and self._rules.may_hold_old(file))
        return self._rules.looks_below and file.level == 0
