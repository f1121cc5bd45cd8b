"""The parts of a step that may hold changes: sections of overlapping keys at both of its ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfold.changelog.specs import ChangeSplit
from keyfold.changelog.steps import SnapshotChange, beside, live
from keyfold.files.sections import sections, sections_of_runs
from keyfold.options.declared import TableOptions
from keyfold.predicates.prune import Pruning
from keyfold.read.key_cuts import by_key
from keyfold.read.plan_head import PlanHead
from keyfold.read.splits import Splitting
from keyfold.storage.metadata.entries import LiveFile, by_place, identifier, split_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Split

# Values of a partition, and a bucket; None for all buckets where their number is another.
Where = tuple[tuple[Any, ...], int | None]
Touched = tuple[int, LiveFile]
Unit = tuple[ChangeSplit, int]  # with the bytes that it reads
SPARSE = 4  # keys are looked up if fewer than one in this many rows is touched


@dataclass(frozen=True)
class Part:
    """Files whose keys overlap before and after a step, and those of them that were touched. `base`
    is a split of their place without sections.
    """

    snapshot: int
    base: Split
    before: tuple[LiveFile, ...]
    after: tuple[LiveFile, ...]
    touched: tuple[Touched, ...]
    is_stored: bool = False

    @property
    def files(self) -> list[LiveFile]:
        """All its files, each once."""
        every = (*self.before, *self.after, *(file for _, file in self.touched))
        return list({file.name: file for file in every}.values())

    @property
    def is_sparse(self) -> bool:
        """Whether looking up the touched keys reads less than comparing all rows."""
        rows = sum(file.rows for file in self.files)
        return sum(file.rows for _, file in self.touched) * SPARSE < rows


def parts_of(head: PlanHead, step: SnapshotChange) -> Iterator[Part]:
    """The parts of a step that may hold changes of interest."""
    layout, chosen = head.table.layout, head.chosen
    if step.stored is not None:
        yield from _stored(layout, step.after.id, filter(_keeps(chosen), step.stored))
        return
    asked = beside(head.table, step) if step.before is not None else None
    states = [live(head.table, state, asked) for state in (step.before, step.after)]
    number, least = step.after.id, step.least_level
    yield from compared_parts(layout, head.settings, number, states, step.touched, least, chosen)


def compared_parts(
    layout: TableLayout,
    settings: TableOptions,
    snapshot: int,
    states: Iterable[Sequence[LiveFile]],
    differing: Iterable[Touched],
    least_level: int,
    chosen: Pruning,
) -> Iterator[Part]:
    """The parts of two states, whose rows differ by keys of the files `differing` only. Those below
    `least_level` do not count.
    """
    keeps = _keeps(chosen)

    def counts(file: LiveFile) -> bool:
        return file.level >= least_level and keeps(file)

    touched = [(number, file) for number, file in differing if counts(file)]
    partitions = {file.partition for _, file in touched}
    sides = [
        [file for file in state if file.partition in partitions and counts(file)]
        for state in states
    ]
    where = places([*sides[0], *sides[1], *(file for _, file in touched)])
    found = {where(file): _Place() for _, file in touched}
    for number, file in touched:
        found[where(file)].touch(number, file)
    for side, files in enumerate(sides):
        for file in files:
            if (place := found.get(where(file))) is not None:
                place.add(side, file)
    for at in sorted(found, key=str):
        yield from found[at].parts(layout, settings, snapshot, at)


def cut(how: Splitting, part: Part, *, is_net: bool) -> Iterator[Unit]:
    """A part as splits, by key if it is larger than a task should be. The
    commits of net changes are known by their keys.
    """
    size = max(sum(file.size for file in part.files), how.settings.split_open_file_cost)
    if part.is_stored:
        stored = replace(part.base, sections=tuple(((file,),) for file in part.after))
        yield ChangeSplit(part.snapshot, part.base, stored, is_stored=True), size
        return
    before, after = map(sections_of_runs, (part.before, part.after))
    splits = by_key(how.layout, part.base, part.files, math.ceil(size / how.target))
    for split in splits:
        sides = replace(split, sections=before), replace(split, sections=after)
        found = ChangeSplit(part.snapshot, *sides, part.touched, part.is_sparse or is_net)
        yield found, size // len(splits)


class _Place:
    """The files of one place, before and after, by their identifiers."""

    def __init__(self) -> None:
        self._every: dict[Any, LiveFile] = {}
        # A file of both sides may have another deletion vector in each.
        self._sides: tuple[dict[Any, LiveFile], dict[Any, LiveFile]] = ({}, {})
        self._touched: list[tuple[int, Any]] = []

    def touch(self, number: int, file: LiveFile) -> None:
        """Add a file whose keys may differ, those that are marked too."""
        self._touched.append((number, identifier(file.record)))
        self._every[identifier(file.record)] = file.marked_by(None)

    def add(self, side: int, file: LiveFile) -> None:
        """Add a file of one side."""
        self._sides[side][identifier(file.record)] = file
        self._every.setdefault(identifier(file.record), file)

    def parts(
        self, layout: TableLayout, settings: TableOptions, snapshot: int, at: Where
    ) -> Iterator[Part]:
        """The sections that hold a touched file."""
        base = split_of(layout, at)
        seen = LiveFile.in_partition if at[1] is None else LiveFile.as_read
        as_read = [seen(file, settings) for file in self._every.values()]
        for section in sections(as_read):
            by_id = {identifier(file.record): file for file in section}
            touched = [(number, by_id[one]) for number, one in self._touched if one in by_id]
            if touched:
                before, after = (self._of_side(by_id, side) for side in self._sides)
                yield Part(snapshot, base, before, after, tuple(touched))

    def _of_side(
        self, by_id: Mapping[Any, LiveFile], side: Mapping[Any, LiveFile]
    ) -> tuple[LiveFile, ...]:
        """The files of a section that one side has, as it has them."""
        return tuple(file.marked_by(side[one].vector) for one, file in by_id.items() if one in side)


def _stored(layout: TableLayout, snapshot: int, files: Iterable[LiveFile]) -> Iterator[Part]:
    """The changelog files of a snapshot, by bucket."""
    for place, held in sorted(by_place(files).items(), key=str):
        ordered = sorted(held, key=lambda file: (file.first, file.min_sequence))
        yield Part(snapshot, split_of(layout, place), (), tuple(ordered), (), is_stored=True)


def _keeps(chosen: Pruning) -> Callable[[LiveFile], bool]:
    """Whether a file may hold keys of interest."""
    in_bucket = chosen.bucket_filter

    def keeps(file: LiveFile) -> bool:
        return (
            (not chosen.by_partition or chosen.keeps_partition(file.partition))
            and (in_bucket is None or in_bucket(file.bucket, file.total_buckets))
            and chosen.keeps_file(
                file.partition, file.min_key, file.max_key, lambda: file.key_stats
            )
        )

    return keeps


def places(files: Iterable[LiveFile]) -> Callable[[LiveFile], Where]:
    """The place in which the keys of a file stay: its bucket, or its partition if that has
    files of several numbers of buckets. Buckets share no keys, so those of all merge as those of
    one.
    """
    totals: dict[tuple[Any, ...], set[int]] = {}
    for file in files:
        totals.setdefault(file.partition, set()).add(file.total_buckets)

    def where(file: LiveFile) -> Where:
        is_one = len(totals[file.partition]) == 1
        return file.partition, file.bucket if is_one else None

    return where
