"""The splits of partitions with rows that have no buckets yet, of scans and look-ups (driver side).

Their keys may be in any bucket. So the files of all buckets are one section there, and those of
rows that wait are its last run, as they come after all that have buckets. Their keys are in no
order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from keyfold.errors import NotSupportedError
from keyfold.files.sections import packed, runs
from keyfold.options.clusters import reads_waiting
from keyfold.options.declared import TableOptions
from keyfold.options.unparsed import READS_WAITING
from keyfold.read.key_cuts import by_key
from keyfold.read.parts import KeyedSection
from keyfold.read.plan_head import PlanHead
from keyfold.read.provenance import divided
from keyfold.read.splits import Splitting, Task
from keyfold.storage import support
from keyfold.storage.metadata.entries import LiveFile, split_of
from keyfold.storage.metadata.live_files import Asked, LiveFiles
from keyfold.storage.metadata.manifest_columns import Numbers
from keyfold.storage.metadata.partition_bounds import Partition
from keyfold.storage.waiting_files import came, waiting
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Split


@dataclass(frozen=True)
class PartitionFiles:
    """The files of a partition that a scan reads: those with buckets as its folder shows them, and
    `last` those whose rows wait, in the order in which they came.
    """

    values: tuple[Any, ...]
    files: Sequence[LiveFile]
    last: Sequence[LiveFile]

    @property
    def section(self) -> tuple[KeyedSection, ...]:
        """All of them as the runs of one section."""
        return (*(runs(self.files) if self.files else ()), tuple(self.last))

    def split(self, layout: TableLayout) -> Split:
        """All of them as one split."""
        return split_of(layout, (self.values, None), (self.section,))


@dataclass(frozen=True)
class WaitingParts:
    """The parts of a scan that no other part shares a partition with."""

    partitions: Sequence[PartitionFiles] = ()

    @property
    def waiting(self) -> list[LiveFile]:
        """The files of rows that wait."""
        return list(chain.from_iterable(one.last for one in self.partitions))

    @property
    def files(self) -> list[LiveFile]:
        """All files."""
        return [file for one in self.partitions for file in (*one.files, *one.last)]

    @property
    def sizes(self) -> Numbers:
        """Their bytes."""
        return np.array([file.size for file in self.files], dtype=np.int64)

    def tasks(self, how: Splitting) -> list[Task]:
        """Their tasks. A partition is cut into ranges of keys if its files with buckets are large:
        each task reads all rows that wait there.
        """
        units = (unit for one in self.partitions for unit in _units(how, one))
        return [tuple(s for s, _ in held) for held in packed(units, lambda u: u[1], how.target)]


def apart(
    head: PlanHead, live: LiveFiles, partitions: Collection[Partition] | None = None
) -> tuple[LiveFiles, WaitingParts]:
    """The files in partitions in which no row waits, and the parts of the others, all or these;
    `live` are those with buckets that are read. Raises NotSupportedError if columns are asked for
    that tell where rows are stored.
    """
    last = _waiting(head, partitions)
    if not last:
        return live, WaitingParts()
    layout, options = head.table.layout, head.table.options
    asked = divided(layout, head.request.columns)[1]
    if asked:
        raise NotSupportedError(
            f"reading metadata columns ({', '.join(asked)}) of table {layout.name}: rows wait for "
            f"their buckets and are read with the others, as its option {READS_WAITING.name} is "
            "'true'; sys.compact (in Python table.compact()) gives them their buckets"
        )
    by_partition: dict[str, list[LiveFile]] = {}
    for file in live.chosen(Asked(lambda values: repr(values) in last)).files():
        by_partition.setdefault(repr(file.partition), []).append(file.in_partition(options))
    parts = [_part(options, by_partition.get(name, ()), found) for name, found in last.items()]
    return live.chosen(Asked(lambda values: repr(values) not in last)), WaitingParts(parts)


def _waiting(head: PlanHead, partitions: Collection[Partition] | None) -> dict[str, list[LiveFile]]:
    """The files of rows that wait and are read, of each partition by the text of its values: NaN
    does not equal itself. Statistics of keys don't tell which, as their rows are in no order.
    """
    request, chosen = head.request, head.chosen
    if not reads_waiting(head.settings) or request.only is not None:
        return {}

    def takes(values: tuple[Any, ...]) -> bool:
        is_within = request.within is None or request.within(values)
        is_within = is_within and (partitions is None or values in partitions)
        return is_within and (not chosen.by_partition or chosen.keeps_partition(values))

    found = waiting(head.table, takes)
    support.check_files(head.table.layout, found)
    by_partition: dict[str, list[LiveFile]] = {}
    for file in sorted(found, key=came):
        by_partition.setdefault(repr(file.partition), []).append(file)
    return by_partition


def _part(
    options: TableOptions, files: Sequence[LiveFile], found: Sequence[LiveFile]
) -> PartitionFiles:
    """A partition. Its rows that wait have a sequence number above those of all others."""
    number = 1 + max((file.max_sequence for file in files), default=-1)
    last = [file.in_partition(options).numbered(number) for file in found]
    return PartitionFiles(found[0].partition, files, last)


def _units(how: Splitting, part: PartitionFiles) -> list[tuple[Split, int]]:
    """The splits of a partition and their bytes."""
    layout, size = how.layout, sum(file.size for file in part.files)
    whole = part.split(layout)
    rest = sum(file.size for file in part.last)
    is_of_keys = any({*one.columns} & {*layout.key} for one in how.by_key)
    if size <= how.most or is_of_keys or math.isinf(how.cut_from):
        return [(whole, size + rest)]
    splits = by_key(layout, whole, part.files, math.ceil(size / how.target))
    return [(split, size // len(splits) + rest) for split in splits]
