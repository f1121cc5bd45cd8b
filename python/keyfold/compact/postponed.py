"""The steps that give rows their buckets (`bucket` = -2), on the driver: one for each partition
that has rows without one.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keyfold.compact.compaction_plan import PlannedStep
from keyfold.compact.jobs import PlannedJob
from keyfold.compact.named_partitions import idle, taken
from keyfold.merge.plan import check_mergeable
from keyfold.options.clusters import first_buckets
from keyfold.read.call_options import with_options
from keyfold.storage import support
from keyfold.storage.metadata.entries import LiveFile, split_of
from keyfold.storage.table import Table, reads_files
from keyfold.storage.waiting_files import came, waiting
from keyfold.wire.partitions import POSTPONED
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import CompactionSpec, CompactionStep, Merged, Split, Task, totals
from keyfold.write.jobs import sequence_of_job
from keyfold.write.keys.partition_buckets import counts_of


def plan_moves(
    table: Table,
    *,
    options: Mapping[str, str] | None = None,
    partitions: str | None = None,
    where: Sequence[Predicate] = (),
    idle_seconds: float | None = None,
    max_bytes: int | None = None,
) -> PlannedJob:
    """The steps for the partitions that are asked for, as `jobs.plan_job` is asked; none if all
    rows have buckets. What came first goes first, if `max_bytes` are less than all that wait.
    """
    table.check_rewritable()
    table = with_options(table, options)
    takes = taken(table.layout, partitions, where)
    if idle_seconds is not None:
        takes = idle(table, takes, idle_seconds)
    files = waiting(table, takes)
    if not files:
        return PlannedJob(CompactionSpec(table.layout, {}))
    support.check_files(table.layout, files)
    check_mergeable(table.layout)
    return _planned(table, files, math.inf if max_bytes is None else max_bytes)


@reads_files
def _planned(table: Table, files: Sequence[LiveFile], left: float) -> PlannedJob:
    spec = CompactionSpec(table.layout, table.stored_schemas(files), table.snapshot_id)
    number, counts = sequence_of_job(table.highest_sequence()), counts_of(table)
    by_partition: dict[tuple[Any, ...], list[LiveFile]] = {}
    for file in files:
        by_partition.setdefault(file.partition, []).append(file)
    steps = []
    for values, found in by_partition.items():
        buckets = counts.get(values, first_buckets(table.options))
        found = list(_within(sorted(found, key=came), left))
        if not found:
            continue
        left -= sum(file.size for file in found)
        base = split_of(table.layout, (values, POSTPONED), tuple(((f,),) for f in found))
        moves = Merged(tuple((file.name, file.level) for file in found), oldest=False)
        job = str(uuid.uuid4())
        step = CompactionStep(job, base.partition, POSTPONED, buckets, 0, (moves,))
        tasks = tuple(_tasks(base, buckets, number))
        steps.append(PlannedStep(step, tasks, totals(()), **totals(found)))
    return PlannedJob(spec, steps)


def _within(files: Sequence[LiveFile], left: float) -> Iterator[LiveFile]:
    """The first files that are together no larger."""
    for file in files:
        left -= file.size
        if left < 0:
            return
        yield file


def _tasks(base: Split, buckets: int, number: int) -> Iterator[Task]:
    """A task for each bucket, which reads all rows of the partition."""
    oldest = (False,) * len(base.sections)
    for bucket in range(buckets):
        split = Split(base.partition, bucket, base.path, base.sections)
        yield Task(split, 0, oldest, rescaled=buckets, number=number)
