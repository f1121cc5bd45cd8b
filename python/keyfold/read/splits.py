"""From the parts of a scan to its tasks; each Spark partition reads one task.

A unit is a section of overlapping keys, or a key range of a section that is larger than a task
should be. Neighbouring units, of one bucket or of several, go into one task as long as they stay
below the size that keeps every core busy. So tasks depend on bytes, not on the number of buckets.
Files that are units by themselves become splits where a task is asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate, groupby, pairwise
from json.encoder import encode_basestring as quoted
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from keyfold.files.sections import packed, runs
from keyfold.options.declared import TableOptions
from keyfold.predicates.ranges import Ranges, may_be_true
from keyfold.read.key_cuts import by_key, stretches_of
from keyfold.read.parts import KeyedSection, ScanParts
from keyfold.storage.metadata.entries import Place
from keyfold.storage.metadata.manifest_columns import Numbers
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import Split

Task = tuple[Split, ...]
_SEVERAL = 8  # tasks of a core: then one of half as much again keeps few waiting
_TASKS_AT_ONCE = 10_000  # whose texts are made together


@dataclass(frozen=True)
class Splitting:
    """The rules for splitting a scan. A task has `target` bytes, `by_key` are predicates over key
    columns. Sections of `cut_from` files or more may be cut, if they have more than `whole` bytes.
    """

    layout: TableLayout
    settings: TableOptions
    target: int
    by_key: tuple[Predicate, ...] = ()
    cut_from: float = 1
    whole: int = 0

    @property
    def most(self) -> int:
        """The bytes above which a section is cut."""
        return max(self.target, self.whole)


class _Unit(NamedTuple):
    split: Split
    weight: int


def task_size(settings: TableOptions, sizes: Sequence[int] | Numbers, cores: int) -> int:
    """The most bytes a task reads: a core's share of all bytes, but no less than a file costs to
    open and no more than `source.split.target-size`.
    """
    share = _share(settings, sizes, cores)
    return min(settings.split_target_size, max(share, settings.split_open_file_cost))


def whole_size(settings: TableOptions, sizes: Sequence[int] | Numbers, cores: int) -> int:
    """The bytes up to which a section is not worth its footers, which say where to cut it: half a
    task more than one has, where each core reads several tasks. Writers close a file above
    `target-file-size`, which is the size of a task.
    """
    target = settings.split_target_size
    is_long = _share(settings, sizes, cores) >= _SEVERAL * target
    return target + target // 2 if is_long else 0


def _share(settings: TableOptions, sizes: Sequence[int] | Numbers, cores: int) -> int:
    """The bytes of each core."""
    least = settings.split_open_file_cost
    weight = int(np.maximum(np.asarray(sizes, dtype=np.int64), least).sum())
    return math.ceil(weight / max(cores, 1))


@dataclass(frozen=True, eq=False)
class Tasks(Sequence[Task]):
    """The tasks of a scan, each made anew where it is asked for. The units of task i end at
    `ends[i]`; of each there is the number of its part. The units of a part begin at `begins`, and
    `others` has those of parts that are no file by itself.
    """

    how: Splitting
    parts: ScanParts
    ends: Sequence[int]
    part_of: Numbers
    begins: Numbers
    others: Mapping[int, Sequence[_Unit]]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        number = range(len(self))[number]
        partition_of = cache(partial(Partition.of, self.how.layout))
        return self._task(self.ends[number - 1] if number else 0, self.ends[number], partition_of)

    def __iter__(self) -> Iterator[Task]:
        partition_of = cache(partial(Partition.of, self.how.layout))
        for start, end in pairwise((0, *self.ends)):
            yield self._task(start, end, partition_of)

    def _task(self, start: int, end: int, partition_of: Callable[[Any], Partition]) -> Task:
        held: list[Split] = []
        for unit, part in enumerate(self.part_of[start:end].tolist(), start):
            found = self.others.get(part)
            if found is not None:
                _add(held, found[unit - self.begins.item(part)].split)
                continue
            values, bucket = self.parts.place(part)
            (section,) = self.parts.sections_of(part)
            _add(held, _whole(self.how, partition_of(values), bucket, section))
        return tuple(held)

    def count_splits(self) -> int:
        """The number of splits of all tasks: neighbouring units of one bucket are one, unless they
        are pieces of sections.
        """
        files, numbers = self.parts.files, self.parts.firsts[self.part_of]
        is_first = np.zeros(len(numbers) + 1, dtype=bool)
        is_first[[0, *self.ends]] = True
        for places in (files.codes[numbers], files.buckets[numbers]):
            is_first[1:-1] |= places[1:] != places[:-1]
        for part, units in self.others.items():
            for unit, found in enumerate(units, self.begins.item(part)):
                if found.split.after is not None or found.split.until is not None:
                    is_first[unit : unit + 2] = True
        return int(is_first[:-1].sum())

    def texts(self) -> Iterator[str]:
        """The tasks as JSON, as they travel."""
        head_of = partial(_head, self.how.layout, cache(partial(_partition_of, self.how.layout)))
        for first in range(0, len(self), _TASKS_AT_ONCE):
            ends = [
                *self.ends[max(first - 1, 0) : first],
                *self.ends[first : first + _TASKS_AT_ONCE],
            ]
            yield from self._texts([0, *ends] if first == 0 else ends, head_of)

    def _texts(self, ends: Sequence[int], head_of: Callable[[Place], str]) -> Iterator[str]:
        """The texts of neighbouring tasks, whose units are between `ends`."""
        parts = self.part_of[ends[0] : ends[-1]]
        sent, numbers = self.parts.texts_alone(parts), parts.tolist()
        partition_of = cache(partial(Partition.of, self.how.layout))
        for start, end in pairwise(ends):
            units = slice(start - ends[0], end - ends[0])
            if sent is not None and self.others.keys().isdisjoint(numbers[units]):
                yield _text(sent[units], head_of)
            else:
                made = [split.to_json() for split in self._task(start, end, partition_of)]
                yield json.dumps(made, separators=(",", ":"), ensure_ascii=False)


def _text(files: Sequence[tuple[Place, str]], head_of: Callable[[Place], str]) -> str:
    """A task of whole files as JSON; those of one bucket are one split."""
    splits = []
    for place, held in groupby(files, itemgetter(0)):
        sections = ",".join(f"[[{file}]]" for _, file in held)
        splits.append(f"{head_of(place)}{sections}]}}")
    return f"[{','.join(splits)}]"


def _head(
    layout: TableLayout, partition_of: Callable[[Any], tuple[Partition, str]], place: Place
) -> str:
    """The beginning of a split as JSON, before its sections."""
    (partition, text), bucket = partition_of(place[0]), place[1]
    path = quoted(partition.bucket_folder(layout, bucket))
    return f'{{"partition":{text},"bucket":{bucket},"path":{path},"sections":['


def _partition_of(layout: TableLayout, values: tuple[Any, ...]) -> tuple[Partition, str]:
    found = Partition.of(layout, values)
    return found, json.dumps(found.to_json(), separators=(",", ":"), ensure_ascii=False)


def tasks(how: Splitting, parts: ScanParts) -> Tasks:
    """The tasks for the parts of a scan; their sections are in key order."""
    partition_of = cache(partial(Partition.of, how.layout))
    sizes, apart = parts.sizes_alone, set(parts.sections)
    if how.cut_from <= 1:
        apart.update(np.flatnonzero(sizes > how.most).tolist())
    others: dict[int, list[_Unit]] = {}
    for part in sorted(apart):
        values, bucket = parts.place(part)
        others[part] = list(_units(how, partition_of(values), bucket, parts.sections_of(part)))
    counts = np.ones(len(parts), dtype=np.int64)
    counts[list(others)] = [len(units) for units in others.values()]
    begins = np.cumsum(counts) - counts
    part_of = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    weights = np.maximum(sizes, how.settings.split_open_file_cost)[part_of]
    for part, units in others.items():
        weights[begins[part] : begins[part] + len(units)] = [unit.weight for unit in units]
    together = packed(range(len(part_of)), weights.tolist().__getitem__, how.target)
    return Tasks(how, parts, list(accumulate(map(len, together))), part_of, begins, others)


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
    for section in sections:
        split = _whole(how, partition, bucket, section)
        # Every piece opens every run: the cost of opening is no reason to cut, only bytes are.
        sizes = [file.size for file in section]
        size = sum(sizes)
        if size <= how.most or len(section) < how.cut_from:
            yield _Unit(split, _weight(sizes, how.settings))
        else:
            yield from _pieces(how, split, section, size)


def _whole(how: Splitting, partition: Partition, bucket: int, section: KeyedSection) -> Split:
    folder = partition.bucket_folder(how.layout, bucket)
    return Split(partition, bucket, folder, (runs(section),))


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
