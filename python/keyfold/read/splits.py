"""From the files of a scan to its tasks; each Spark partition reads one task.

A unit is a section of overlapping keys, or a key range of a section that is larger than a task
should be. Neighbouring units, of one bucket or of several, go into one task as long as they stay
below the size that keeps every core busy. So tasks depend on bytes, not on the number of buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from typing import NamedTuple

from keyfold.files.sections import packed, runs
from keyfold.options.declared import TableOptions
from keyfold.predicates.ranges import Ranges, may_be_true
from keyfold.read.key_cuts import by_key, stretches_of
from keyfold.storage.metadata.entries import LiveFile, Place
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import Split

Task = tuple[Split, ...]
KeyedSection = tuple[LiveFile, ...]


@dataclass(frozen=True)
class Splitting:
    """The rules for splitting a scan. A task has `target` bytes, `by_key` are predicates over key
    columns, and `cuts` says which sections may be cut.
    """

    layout: TableLayout
    settings: TableOptions
    target: int
    by_key: tuple[Predicate, ...] = ()
    may_cut: Callable[[KeyedSection], bool] = bool


class _Unit(NamedTuple):
    split: Split
    weight: int


def task_size(settings: TableOptions, files: Iterable[LiveFile], cores: int) -> int:
    """The most bytes a task reads: a core's share of all bytes, but no less than a file costs to
    open and no more than `source.split.target-size`.
    """
    share = math.ceil(_weight([file.size for file in files], settings) / max(cores, 1))
    return min(settings.split_target_size, max(share, settings.split_open_file_cost))


def tasks(how: Splitting, places: Iterable[tuple[Place, Sequence[KeyedSection]]]) -> Iterator[Task]:
    """The tasks for the sections of buckets; the sections are in key order."""
    partition_of = cache(partial(Partition.of, how.layout))
    units = (
        unit
        for (values, bucket), sections in places
        for unit in _units(how, partition_of(values), bucket, sections)
    )
    for together in packed(units, attrgetter("weight"), how.target):
        held: list[Split] = []
        for unit in together:
            _add(held, unit.split)
        yield tuple(held)


def _add(held: list[Split], split: Split) -> None:
    """Adds a split; whole sections of one bucket become one split. NULL and blank texts are stored
    in one folder, so buckets of different partitions may have one path.
    """
    last = held[-1] if held else None
    whole = (None, None)
    if (
        last is not None
        and last.partition is split.partition
        and (last.path, last.after, last.until) == (split.path, *whole)
        and (split.after, split.until) == whole
    ):
        held[-1] = replace(last, sections=last.sections + split.sections)
    else:
        held.append(split)


def _units(
    how: Splitting, partition: Partition, bucket: int, sections: Sequence[KeyedSection]
) -> Iterator[_Unit]:
    folder = partition.bucket_folder(how.layout, bucket)
    for section in sections:
        split = Split(partition, bucket, folder, (runs(section),))
        # Every piece opens every run: the cost of opening is no reason to cut, only bytes are.
        sizes = [file.size for file in section]
        size = sum(sizes)
        if size <= how.target or not how.may_cut(section):
            yield _Unit(split, _weight(sizes, how.settings))
        else:
            yield from _pieces(how, split, section, size)


def _pieces(how: Splitting, split: Split, section: KeyedSection, size: int) -> Iterator[_Unit]:
    store = store_of(how.layout.location, how.layout.store)
    pieces = math.ceil(size / how.target)
    keep = partial(_may_pass, how.by_key) if how.by_key else None
    found = stretches_of(how.layout, store, split.path, section, pieces, keep)
    if not found:
        return  # no row group passes
    size = sum(stretch.bytes for stretch in found)
    pieces = math.ceil(size / how.target)
    splits = by_key(how.layout, split, section, pieces, found)
    yield from (_Unit(one, size // len(splits)) for one in splits)


def _may_pass(predicates: Sequence[Predicate], ranges: Ranges) -> bool:
    return all(may_be_true(predicate, ranges) for predicate in predicates)


def _weight(sizes: Iterable[int], settings: TableOptions) -> int:
    """The bytes that files of these sizes count for: no fewer than they cost to open."""
    least = settings.split_open_file_cost
    return sum(max(size, least) for size in sizes)
