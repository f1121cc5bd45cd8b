"""The steps of a table's compaction (driver side): picks, the fate of their files, and the tasks
that cores share.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from keyfold.compact.awaited import is_full_due
from keyfold.compact.groups import Group, Rewriting, Work, work
from keyfold.compact.kept_deletes import retractions_wait
from keyfold.compact.old_files import may_hold_old
from keyfold.compact.pick import (
    BucketRun,
    Intervals,
    PickRules,
    RunPick,
    bucket_runs,
    pick_small,
    pick_whole,
    unit,
    whole,
)
from keyfold.files.sections import packed, runs, sections_of_runs
from keyfold.lifetime.row_times import earliest_kept
from keyfold.options.changelogs import FULL_COMPACTION, LOOKUP, changelog_level, takes_level_0
from keyfold.options.declared import TableOptions
from keyfold.read.key_cuts import by_key
from keyfold.storage.metadata.entries import (
    LiveFile,
    Place,
    by_place,
    created_millis,
    decode_keys,
    split_of,
)
from keyfold.storage.metadata.live_files import Asked
from keyfold.storage.table import Table, reads_files
from keyfold.wire.specs import (
    ChangelogInput,
    CompactionSpec,
    CompactionStep,
    FileAtLevel,
    Merged,
    Split,
    Task,
    totals,
)

STEP_BYTES = 1 << 30
LEAST_PIECE = 16 << 20
_FEW = 8  # times as many rows are below: their row groups are then looked up by key
AUTO, MINOR, FULL = "auto", "minor", "full"
STRATEGIES = (AUTO, MINOR, FULL)

Values = tuple[Any, ...]


@dataclass(frozen=True)
class CompactionRequest:
    """A request for a compaction: `auto` after a write, `minor` and `full` by hand.

    `max_bytes` bounds the bytes that are read. `touched` are the buckets a write went to; None
    means all. `parallelism` is the number of tasks that run at a time. Files of the schemas
    `lacking` are written again even if nothing is merged.
    """

    strategy: str
    partitions: Callable[[Values], bool] | None = None
    max_bytes: int | None = None
    touched: frozenset[Place] | None = None
    parallelism: int = 1
    lacking: frozenset[int] = frozenset()


@dataclass(frozen=True)
class PlannedStep:
    """A step, its tasks, and the amount it takes. `moved` is the part of it in files that change
    their level as they are, as `totals`: nothing reads them.
    """

    step: CompactionStep
    tasks: tuple[Task, ...]
    moved: Mapping[str, int]
    files: int
    bytes: int
    rows: int


@dataclass(frozen=True)
class _Chosen:
    """A pick of one bucket, and the fate of its files."""

    place: Place
    total_buckets: int
    picked: Sequence[BucketRun]
    stays: Sequence[BucketRun]
    level: int
    work: Work


@reads_files
def plan_steps(table: Table, asked: CompactionRequest) -> tuple[CompactionSpec, list[PlannedStep]]:
    """The steps of a compaction of the table's snapshot; no steps if nothing needs it."""
    options = table.options
    files = _files(table, asked)
    if asked.strategy == AUTO and is_full_due(table, files):
        asked = replace(asked, strategy=FULL, touched=None, max_bytes=None)
    if asked.strategy == FULL:
        asked = replace(asked, lacking=_lacking(table, files))
    rules = PickRules.of(options, retractions_wait=retractions_wait(table.layout))
    is_awaited = _is_awaited(options)
    places = by_place(files).items()
    found = {at: of for at, of in places if _is_asked(asked, at, of, is_awaited=is_awaited)}
    decode_keys(file for file in files if (file.partition, file.bucket) in found)
    earliest = earliest_kept(table.layout, options)
    rewriting = Rewriting.of(options, asked.lacking, may_hold_old(table, earliest))
    rewriting = replace(rewriting, drops_marked=asked.strategy == FULL)
    chosen = list(_chosen(options, rules, asked, found, rewriting))
    chunks = [(one, chunk) for one in chosen for chunk in _chunks(one.work)]
    if asked.strategy == FULL and asked.max_bytes is not None:
        chunks = _within(chunks, asked.max_bytes)
    size = sum(group.bytes for _, chunk in chunks for group in chunk.groups)
    piece = max(LEAST_PIECE, min(-(-size // asked.parallelism), options.target_file_size))
    steps = [_step(table, options, one, chunk, piece) for one, chunk in chunks]
    schemas = table.stored_schemas(files)
    return CompactionSpec(table.layout, schemas, table.snapshot_id, earliest), steps


def _files(table: Table, asked: CompactionRequest) -> Sequence[LiveFile]:
    """The files that a compaction may be about. After a write they are those of its buckets, unless
    the table's changelog may make others due.
    """
    options, touched = table.options, asked.touched
    is_about_all = options.changelog_producer == FULL_COMPACTION or _is_awaited(options)
    if touched is None or asked.partitions is not None or is_about_all:
        return table.to_read(Asked.where(asked.partitions))[0].files()
    found, _ = table.to_read(Asked.around(touched))
    if asked.strategy == AUTO:  # so that of a large job's new buckets no file becomes an object
        is_timed = options.compaction_interval is not None
        found = found.crowded(PickRules.of(options).fewest(is_timed=is_timed))
    return found.in_places(touched)


def _is_awaited(options: TableOptions) -> bool:
    """Whether jobs wait for changes that compactions write, or rows that these mark."""
    looks_up = options.changelog_producer == LOOKUP or options.has_vectors
    return looks_up and takes_level_0(options)


def commits(steps: Iterable[PlannedStep]) -> Iterator[int]:
    """The number of the commit that each step is part of. A commit takes steps, in their order,
    until they read STEP_BYTES together.
    """
    number = size = 0
    for step in steps:
        if size >= STEP_BYTES:
            number, size = number + 1, 0
        size += step.bytes
        yield number


def _lacking(table: Table, files: Iterable[LiveFile]) -> frozenset[int]:
    """The schemas of files that lack a column whose DEFAULT their rows have. Other readers see NULL
    there until the files hold it.
    """
    added = {column.id for column in table.layout.columns if column.initial is not None}
    return frozenset(
        number
        for number in ({file.schema_id for file in files} if added else ())
        if added - {column.id for column in table.schema(number).columns}
    )


def _is_asked(
    asked: CompactionRequest, place: Place, files: Sequence[LiveFile], *, is_awaited: bool
) -> bool:
    """Whether the request is about a bucket. A write whose job ended before its changes were
    written,
    for which jobs wait if it `is_awaited`, left them to the next one.
    """
    if asked.touched is None or place in asked.touched:
        return True
    return is_awaited and any(file.level == 0 for file in files)


def _chosen(
    options: TableOptions,
    declared: PickRules,
    asked: CompactionRequest,
    places: dict[Place, list[LiveFile]],
    rewriting: Rewriting,
) -> Iterator[_Chosen]:
    """The picks within the bytes that are allowed, the buckets with most runs first."""
    left, is_any_due = _allowed(options, asked), False
    takes_small = asked.strategy == AUTO and options.changelog_producer != FULL_COMPACTION
    buckets = {
        place: bucket_runs([file.as_read(options) for file in files])
        for place, files in places.items()
    }
    for place, found in sorted(buckets.items(), key=lambda item: -len(item[1])):
        files = places[place]
        # Levels that were in use before num-levels was lowered stay (as in Paimon).
        rules = replace(declared, levels=max(declared.levels, found[-1].level + 1))
        wanted: RunPick | None = RunPick(len(found), rules.top)
        if asked.strategy != FULL:
            wanted = pick_whole(found, rules, is_due=_is_due(found, rules, options))
        if takes_small:
            wanted = pick_small(found, rules, wanted, joins=is_any_due)
        is_any_due = is_any_due or wanted is not None
        fitting = _fitting(asked, rules, found, rewriting, wanted, left)
        if fitting is None:
            continue
        count, level, todo = fitting
        left -= todo.bytes
        if todo.groups or todo.upgraded:
            total = files[0].total_buckets
            yield _Chosen(place, total, found[:count], found[count:], level, todo)


def _allowed(options: TableOptions, asked: CompactionRequest) -> float:
    if asked.strategy == FULL or (asked.max_bytes is None and asked.strategy == MINOR):
        return math.inf
    return options.compaction_write_budget if asked.max_bytes is None else asked.max_bytes


def _fitting(
    asked: CompactionRequest,
    rules: PickRules,
    found: Sequence[BucketRun],
    rewriting: Rewriting,
    wanted: RunPick | None,
    left: float,
) -> tuple[int, int, Work] | None:
    """The pick, or as many of its newest runs as the bytes left allow; None if no runs fit."""
    if wanted is None:
        return None
    todo = _work(found, wanted, rewriting)
    is_urgent = len(found) >= rules.stop or rules.takes_level_0
    must = asked.strategy == AUTO and is_urgent
    if todo.bytes <= left or must:
        return wanted.count, wanted.level, todo
    for count in range(wanted.count - 1, 1, -1):
        less = whole(found, rules, unit(found, rules, count))
        todo = _work(found, less, rewriting)
        if less.count < wanted.count and todo.bytes <= left:
            return less.count, less.level, todo
    return None


def _work(found: Sequence[BucketRun], wanted: RunPick, rewriting: Rewriting) -> Work:
    return work(found[: wanted.count], found[wanted.count :], wanted.level, rewriting)


def _is_due(found: Sequence[BucketRun], rules: PickRules, options: TableOptions) -> bool:
    """Whether `compaction.optimization-interval` has passed since files came to the top level."""
    if options.compaction_interval is None or len(found) < 2:  # no record of a lone run is read
        return False
    since = (time.time() - options.compaction_interval) * 1000
    tops = found[-1].files if found[-1].level == rules.top else ()
    return all(created_millis(file) < since for file in tops)


def _chunks(todo: Work) -> Iterator[Work]:
    """The work cut into commits; files that only change their level go with the first."""
    parts = (part for group in todo.groups for part in _cut(group, STEP_BYTES))
    chunks = list(packed(parts, attrgetter("bytes"), STEP_BYTES))
    if not chunks and todo.upgraded:
        yield todo
    for place, held in enumerate(chunks):
        yield Work(tuple(held), () if place else todo.upgraded)


def _cut(group: Group, most: float) -> Iterator[Group]:
    """The group as groups of neighbouring sections of at most `most` bytes, or one section."""
    for part in packed(zip(group.sections, group.oldest, strict=True), _section_bytes, most):
        yield Group(*zip(*part, strict=True))


def _section_bytes(section: tuple[Sequence[LiveFile], bool]) -> int:
    return sum(file.size for file in section[0])


def _within(chunks: Sequence[tuple[_Chosen, Work]], most: int) -> list[tuple[_Chosen, Work]]:
    found, left = [], most
    for one, chunk in chunks:
        if chunk.bytes <= left:
            left -= chunk.bytes
            found.append((one, chunk))
    return found


def _step(
    table: Table, options: TableOptions, one: _Chosen, chunk: Work, piece: int
) -> PlannedStep:
    base = split_of(table.layout, one.place)
    tasks = [
        task
        for group in chunk.groups
        for part in _cut(group, piece)
        for task in _tasks(table, options, one, base, part, piece)
    ]
    merged = tuple(
        Merged(_names(section), oldest)
        for group in chunk.groups
        for section, oldest in zip(group.sections, group.oldest, strict=True)
    )
    files = [f for group in chunk.groups for f in group.files] + list(chunk.upgraded)
    groups = chunk.groups if options.has_vectors else ()
    below = dict.fromkeys(f.name for group in groups for f in _looked_into(one, group))
    return PlannedStep(
        CompactionStep(
            str(uuid.uuid4()),
            base.partition,
            base.bucket,
            one.total_buckets,
            one.level,
            merged,
            _names(chunk.upgraded),
            {file.name: file.vector for file in files if file.vector is not None},
            tuple(below),
        ),
        tuple(tasks) or (Task(base, one.level, ()),),
        totals(chunk.upgraded),
        **totals(files),
    )


def _names(files: Iterable[LiveFile]) -> tuple[FileAtLevel, ...]:
    return tuple((one.name, one.level) for one in files)


def _tasks(
    table: Table, options: TableOptions, one: _Chosen, base: Split, group: Group, piece: int
) -> Iterator[Task]:
    """One task, or, for a single large section, one task for each key range."""
    below = _below(options, base, one, group)
    if below is not None:
        group = Group((group.files,), (False,))
    split = replace(base, sections=tuple(runs(section) for section in group.sections))
    pieces = math.ceil(group.bytes / piece) if len(group.sections) == 1 else 1
    found = _changelog_input(options, one, group)
    for cut in by_key(table.layout, split, group.sections[0], pieces):
        under = None if below is None else replace(below, after=cut.after, until=cut.until)
        yield Task(cut, one.level, group.oldest, under, changelog=found)


def _changelog_input(options: TableOptions, one: _Chosen, group: Group) -> ChangelogInput | None:
    """The input of a group's changelog; None if its result is below the level whose changes are
    written, or if all of them were written before. Only the keys of new rows are looked up if
    these are few, or if an update to equal values is a change, as other keys have none: but for
    rows that go for their age, if that is a change.
    """
    least = changelog_level(options)
    new = [file for file in group.files if file.level < least]
    if not new or one.level < least:
        return None
    stays = _staying(one, group)
    before = [file for file in group.files if file.level >= least] + stays
    is_sparse = _FEW * sum(f.rows for f in new) < sum(f.rows for f in before)
    others_change = options.row_seconds is not None and options.row_changes
    by_key = (is_sparse and not others_change) or not options.changelog_deduplicates
    if stays and options.has_vectors:  # what is written has the rows of its keys that stay
        by_key, stays = True, []
    return ChangelogInput(
        sections_of_runs(before),
        runs(stays) if stays else (),
        tuple(f.name for f in new) if by_key else (),
    )


def _staying(one: _Chosen, group: Group) -> list[LiveFile]:
    """The files that stay and hold keys of the group's range."""
    range_of = Intervals(group.files)
    return [f for run in one.stays for f in run.files if range_of.touch(f.first, f.last)]


def _below(options: TableOptions, base: Split, one: _Chosen, group: Group) -> Split | None:
    """The files that stay and whose rows of the group's keys are looked up, in sections. None if
    there are no such files; under first-row, if a record that overwrites may win over them.
    """
    if options.has_vectors:
        found = _looked_into(one, group)
        return replace(base, sections=(runs(found),)) if found else None
    if not options.engine.keeps_oldest or any(file.is_marked for file in group.files):
        return None
    files = _staying(one, group)
    return replace(base, sections=sections_of_runs(files)) if files else None


def _looked_into(one: _Chosen, group: Group) -> list[LiveFile]:
    """The files that stay and may hold rows which those of level 0 replace."""
    return _staying(one, group) if any(file.level == 0 for file in group.files) else []
