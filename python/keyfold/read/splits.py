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
from itertools import pairwise
from json.encoder import encode_basestring as quoted
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.files.sections import runs
from keyfold.options.declared import TableOptions
from keyfold.predicates.ranges import Ranges, may_be_true
from keyfold.read.key_cuts import by_key, stretches_of
from keyfold.read.parts import KeyedSection, ScanParts
from keyfold.storage.metadata.manifest_columns import Numbers, joined
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition, bucket_name
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import Split

Task = tuple[Split, ...]
_SEVERAL = 8  # tasks of a core: then one of half as much again keeps few waiting
_UNITS_AT_ONCE = 10_000  # whose texts are made together
_FEW_UNITS = 8  # whose texts are made one by one, as quickly


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
        for some in self.text_arrays():
            yield from some if isinstance(some, list) else some.to_pylist()

    def text_arrays(self) -> Iterator[pa.Array | list[str]]:
        """The texts of some thousand neighbours at a time, as Arrow has them, since they are many;
        a list of few, or where the name of a folder is no UTF-8.
        """
        if len(self.part_of) < _FEW_UNITS:
            yield list(map(_text, self))
            return
        partition_of = cache(partial(Partition.of, self.how.layout))
        odd = np.zeros(len(self.parts), dtype=bool)  # parts that are no file as it is stored
        odd[list(self.others)] = True
        odd |= not self.parts.are_as_stored()
        ends, first = np.array([0, *self.ends], dtype=np.int64), 0
        while first < len(self):
            last = int(np.searchsorted(ends, ends[first] + _UNITS_AT_ONCE, side="right")) - 1
            last = max(first + 1, last)
            yield self._texts(ends[first : last + 1], odd, partition_of)
            first = last

    def _texts(
        self, ends: Numbers, odd: Numbers, partition_of: Callable[[Any], Partition]
    ) -> pa.Array | list[str]:
        """The texts of neighbouring tasks, whose units are between `ends`."""
        starts, parts = ends[:-1] - ends[0], self.part_of[ends[0] : ends[-1]]
        is_odd = np.logical_or.reduceat(odd[parts], starts)
        is_odd |= np.diff(ends) > _UNITS_AT_ONCE
        numbers = np.flatnonzero(is_odd)
        plain = pa.array([], pa.string())
        made = [
            _text(self._task(start, end, partition_of))
            for start, end in zip(ends[numbers].tolist(), ends[numbers + 1].tolist(), strict=True)
        ]
        try:
            if not is_odd.all():
                sizes = np.diff(ends)
                alone = parts[~np.repeat(is_odd, sizes)]
                plain = self._texts_alone(alone, sizes[~is_odd], partition_of)
            order = np.argsort(np.concatenate((np.flatnonzero(~is_odd), numbers)))
            return pa.concat_arrays([plain, pa.array(made, pa.string())]).take(pa.array(order))
        except UnicodeEncodeError:
            between = pairwise(ends.tolist())
            return [_text(self._task(*one, partition_of)) for one in between]

    def _texts_alone(
        self, parts: Numbers, sizes: Numbers, partition_of: Callable[[Any], Partition]
    ) -> pa.Array:
        """The texts of tasks of files as they are stored, with `sizes` of the parts for each task.
        Neighbours of one bucket are one split.
        """
        files, numbers = self.parts.files, self.parts.firsts[parts]
        codes, buckets = files.codes[numbers], files.buckets[numbers]
        begins = np.ones(len(parts), dtype=bool)
        begins[1:] = (codes[1:] != codes[:-1]) | (buckets[1:] != buckets[:-1])
        starts = np.cumsum(sizes) - sizes
        begins[starts] = True
        known, places = np.unique(codes[begins], return_inverse=True)
        heads = [_head(self.how.layout, partition_of(files.partitions[code])) for code in known]
        before, path = (
            pa.array([head[side] for head in heads]).take(pa.array(places)) for side in (0, 1)
        )
        names = {bucket: bucket_name(bucket) for bucket in np.unique(buckets).tolist()}
        folder = pa.array([names[bucket] for bucket in buckets[begins].tolist()])
        bucket = pa.array(buckets[begins]).cast(pa.string())
        sections = _together(joined("[[", files.texts(numbers), "]]"), np.flatnonzero(begins))
        splits = joined(before, bucket, path, folder, _SECTIONS, sections, "]}")
        counts = np.cumsum(begins) - 1
        return joined("[", _together(splits, counts[starts]), "]")


_SECTIONS = '","sections":['


def _together(texts: pa.Array, starts: Numbers) -> pa.Array:
    """Neighbouring texts as one, between commas; the first of each are at `starts`."""
    offsets = pa.array(np.append(starts, len(texts)), pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ",")


def _head(layout: TableLayout, partition: Partition) -> tuple[str, str]:
    """A split of a partition as JSON: what is before its bucket, and then before the bucket's name
    in its path.
    """
    before = json.dumps(partition.to_json(), separators=(",", ":"), ensure_ascii=False)
    folder = quoted(f"{partition.folder(layout)}/")[:-1]
    return f'{{"partition":{before},"bucket":', f',"path":{folder}'


def _text(task: Task) -> str:
    made = [split.to_json() for split in task]
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False)


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
    return Tasks(how, parts, _ends(weights, how.target), part_of, begins, others)


def _ends(weights: Numbers, most: int) -> list[int]:
    """The ends of groups of neighbours that weigh at most `most`, or are one (`packed`)."""
    totals, found, end = np.cumsum(weights), list[int](), 0
    while end < len(totals):
        some = slice(end, end + _UNITS_AT_ONCE)
        limits, first = totals[some] - weights[some] + most, end
        following = np.searchsorted(totals, limits, side="right")
        after = np.maximum(following, np.arange(end + 1, end + 1 + len(limits))).tolist()
        while end - first < len(after):
            end = after[end - first]
            found.append(end)
    return found


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
