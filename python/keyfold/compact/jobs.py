"""A compaction on the driver: its steps are planned on the newest snapshot, then committed, some
together, or abandoned.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfold.compact import compaction_plan
from keyfold.compact.compaction_plan import CompactionRequest, PlannedStep
from keyfold.compact.named_partitions import idle, taken
from keyfold.errors import ConflictError, TableError
from keyfold.merge.plan import check_mergeable
from keyfold.read.call_options import with_options
from keyfold.storage.commits import commit
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.commits.outcomes import OUTCOMES
from keyfold.storage.maintenance.due import followed
from keyfold.storage.metadata.entries import Place
from keyfold.storage.metadata.partition_bounds import Bounded
from keyfold.storage.table import Table
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import bucket_name
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import CommitMessage, CompactionSpec, CompactionStep, totals
from keyfold.write.job import Job
from keyfold.write.keys.shared_keys import SharedKeys

Outcome = dict[str, Any]


@dataclass(frozen=True)
class PlannedJob:
    """Steps, if there are any, else the reason why there is none in `skipped`."""

    spec: CompactionSpec
    steps: Sequence[PlannedStep] = ()
    skipped: str | None = None


def plan_job(
    table: Table,
    strategy: str,
    *,
    options: Mapping[str, str] | None = None,
    partitions: str | None = None,
    where: Sequence[Predicate] = (),
    idle_seconds: float | None = None,
    max_bytes: int | None = None,
    touched: frozenset[Place] | None = None,
    parallelism: int | None = None,
    within: Bounded | None = None,
) -> PlannedJob:
    """The steps of a compaction of the table at its newest snapshot and schema.

    `strategy` is auto (after a write), minor or full; `partitions` and `where` say which, with
    `idle_seconds` only those that were last written so long ago; `options` of the table are for
    this call; `max_bytes` to read; the buckets a write `touched`; `parallelism`, the number of
    tasks that run at a time; and the range of partitions `within` which this is a part of a plan.
    """
    table.check_rewritable()
    table = with_options(table, options)
    strategy = _strategy(table.layout, strategy)
    nothing = CompactionSpec(table.layout, {})
    if strategy == compaction_plan.AUTO and table.options.write_only:
        return PlannedJob(nothing, skipped="the table is write-only")
    check_mergeable(table.layout)
    if max_bytes is not None and max_bytes < 1:
        raise TableError(
            f"compaction of table {table.layout.name}: max_bytes is {max_bytes}; expected 1 or more"
        )
    takes = taken(table.layout, partitions, where)
    if idle_seconds is not None:
        takes = idle(table, takes, idle_seconds)
    cores = max(1, parallelism or os.cpu_count() or 1)
    own = takes if within is None else within
    spec, steps = compaction_plan.plan_steps(
        table, CompactionRequest(strategy, own, max_bytes, touched, cores)
    )
    if steps:
        return PlannedJob(spec, steps)
    if takes is not None and not table.live_files(partition_filter=takes):
        return PlannedJob(nothing, skipped="no partition that holds rows is among those asked for")
    bound = "" if max_bytes is None else f" within {max_bytes} bytes"
    return PlannedJob(nothing, skipped=f"no bucket needs merging{bound}")


def _strategy(layout: TableLayout, text: str) -> str:
    if text.lower() not in compaction_plan.STRATEGIES:
        raise TableError(
            f"compaction of table {layout.name}: compact_strategy is '{text}'; "
            "expected 'full' or 'minor'"
        )
    return text.lower()


def described(layout: TableLayout, planned: PlannedStep) -> dict[str, Any]:
    """The bucket of a step, its level, and the files, bytes and rows it reads."""
    step = planned.step
    partition = step.partition.text
    where = f"{partition}/{bucket_name(step.bucket)}" if partition else bucket_name(step.bucket)
    return {
        "description": f"compaction of {layout.name}, {where}: {planned.files} files, "
        f"{planned.bytes / (1 << 20):.1f} MiB to level {step.level}",
        "partition": partition,
        "bucket": step.bucket,
        "level": step.level,
        "files": planned.files,
        "bytes": planned.bytes,
        "rows": planned.rows,
    }


def commit_steps(
    table: Table,
    spec: CompactionSpec,
    steps: Sequence[CompactionStep],
    results: Sequence[Sequence[CommitMessage]],
) -> list[Outcome]:
    """Put the files that the tasks of `steps` wrote (`results` of each) in the place of those they
    read, in one snapshot, whose job is that of the first step. There is an answer for each step.

    `outcome` is committed, nothing or conflict. After a conflict nothing has changed in its bucket
    and the files are removed. `files`, `bytes` and `rows` are those of the files in place.
    """
    try:
        compactions = list(map(_compaction, steps, results))
        snapshot, lost = commit.compact(table, compactions, SharedKeys(table))
    except BaseException as error:
        if OUTCOMES.give_up(steps[0].job):
            for messages in results:
                Job(spec.layout, messages).remove()
        if isinstance(error, ConflictError):
            return [_outcome("conflict", (), message=str(error))] * len(steps)
        raise
    followed(table, snapshot)
    return [
        _settled(spec, messages, snapshot, lost.get(step.job))
        for step, messages in zip(steps, results, strict=True)
    ]


def _compaction(step: CompactionStep, messages: Sequence[CommitMessage]) -> Compaction:
    total = step.total_buckets
    return Compaction(step, [replace(message, total_buckets=total) for message in messages])


def _settled(
    spec: CompactionSpec,
    messages: Sequence[CommitMessage],
    snapshot: int | None,
    lost: ConflictError | None,
) -> Outcome:
    if lost is not None:
        Job(spec.layout, messages).remove()
        return _outcome("conflict", (), message=str(lost))
    return _outcome("nothing" if snapshot is None else "committed", messages, snapshot)


def _outcome(
    outcome: str,
    messages: Sequence[CommitMessage],
    snapshot: int | None = None,
    message: str | None = None,
) -> Outcome:
    files = (file for one in messages for file in one.files)
    return {"outcome": outcome, "message": message, "snapshot": snapshot} | totals(files)
