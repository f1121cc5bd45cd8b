"""From the files of a scan to its tasks; each Spark partition reads one task.

A unit is a section of overlapping keys, or a key range of a section that is larger than a task
should be. Neighbouring units, of one bucket or of several, go into one task as long as they stay
below the size that keeps every core busy. So tasks depend on bytes, not on the number of buckets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

from keyfold.files.sections import packed, runs
from keyfold.options.declared import TableOptions
from keyfold.predicates.ranges import Ranges, may_be_true
from keyfold.read.key_cuts import by_key, stretches_of
from keyfold.storage.metadata.entries import LiveFile, Place, split_of
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
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


@dataclass(frozen=True)
class _Unit:
    split: Split
    weight: int


def task_size(settings: TableOptions, files: Iterable[LiveFile], cores: int) -> int:
    """The most bytes a task reads: a core's share of all bytes, but no less than a file costs to
    open and no more than `source.split.target-size`.
    """
    share = math.ceil(sum(_weight(file, settings) for file in files) / max(cores, 1))
    return min(settings.split_target_size, max(share, settings.split_open_file_cost))


def tasks(how: Splitting, places: Iterable[tuple[Place, Sequence[KeyedSection]]]) -> Iterator[Task]:
    """The tasks for the sections of buckets; the sections are in key order."""
    units = (unit for place, sections in places for unit in _units(how, place, sections))
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


def _units(how: Splitting, place: Place, sections: Sequence[KeyedSection]) -> Iterator[_Unit]:
    whole = split_of(how.layout, place)
    for section in sections:
        split = replace(whole, sections=(runs(section),))
        # Every piece opens every run: the cost of opening is no reason to cut, only bytes are.
        size = sum(file.size for file in section)
        if size <= how.target or not how.may_cut(section):
            yield _Unit(split, sum(_weight(file, how.settings) for file in section))
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


def _weight(file: LiveFile, settings: TableOptions) -> int:
    return max(file.size, settings.split_open_file_cost)
