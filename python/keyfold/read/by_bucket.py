"""Reading by bucket: each bucket is one task, so that Spark joins and groups without a shuffle.

Two tables hold equal keys in buckets of one number if their bucket keys are one column of one type,
and their numbers of buckets are equal; if they are partitioned, in partitions of equal values. The
type must be one whose values Spark compares as they are hashed: not FLOAT (0.0 equals -0.0), CHAR
(padding) or TIMESTAMP (hashed by its precision, which Spark does not know).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.errors import NotSupportedError
from keyfold.options.calls import READ_BY_BUCKET, value
from keyfold.options.values import boolean
from keyfold.predicates.condition import is_exact
from keyfold.read.splits import Task
from keyfold.storage.metadata.snapshot_files import are_all_of
from keyfold.storage.table import Table
from keyfold.types.literals import arrow_array
from keyfold.types.logical import name_of
from keyfold.wire.codec import batch_to_text
from keyfold.wire.specs import Split

BUCKET = "bucket"
POSSIBLE = "possible"  # what a session asks for: by bucket where that can be done


def bucket_column(table: Table, options: Mapping[str, str]) -> str | None:
    """The column by whose bucket a scan is read; None if it is not to be. Raises NotSupportedError
    if a reader's option asks for it and the table can't be read so.
    """
    asked, doing = options.get(READ_BY_BUCKET), f"reading table {table.layout.name}"
    if asked != POSSIBLE and not value(doing, options, READ_BY_BUCKET, boolean):
        return None
    reason = _obstacle(table)
    if reason is None:
        return table.options.bucket_key[0]
    if asked == POSSIBLE:
        return None
    raise NotSupportedError(f"{doing} with {READ_BY_BUCKET}: {reason}; leave the option out")


def _obstacle(table: Table) -> str | None:
    layout, settings = table.layout, table.options
    if not layout.primary_key or settings.bucket <= 0:
        return "it has no fixed number of buckets"
    if len(settings.bucket_key) != 1:
        return f"its bucket key has several columns ({', '.join(settings.bucket_key)})"
    (name,) = settings.bucket_key
    kind = layout.column(name).type
    for column in layout.partition_keys:
        if not is_exact(layout, column):
            return f"its partition column {column} is of a type that Spark compares otherwise"
    if not is_exact(layout, name) or name_of(kind).startswith("TIME"):
        return f"its bucket key {name} is of a type whose equal values may be in several buckets"
    if _has_other_buckets(table, settings.bucket):
        return "some of its files are of another number of buckets; sys.rescale makes them anew"
    return None


def _has_other_buckets(table: Table, number: int) -> bool:
    """Whether a file is of another number of buckets. Manifests are read if their lists don't say
    that none is.
    """
    snapshot = table.snapshot
    if snapshot is None:
        return False
    with table.reading(snapshot):
        if are_all_of(table.manifests, snapshot, number):
            return False
    return bool(table.live().bucket_counts() - {number})


@dataclass(frozen=True)
class ByBucket:
    """One task for each bucket. `keys` has a row for each: the values of its partition, and its
    number.
    """

    columns: tuple[str, ...]
    buckets: int
    tasks: list[Task]
    keys: pa.RecordBatch

    def to_json(self) -> dict[str, Any]:
        """All that Spark has to know."""
        return {
            "columns": self.columns,
            "buckets": self.buckets,
            "keys": batch_to_text(self.keys),
        }


def grouped(table: Table, column: str, tasks: Iterable[Task]) -> ByBucket | None:
    """Splits grouped by bucket; None if a partitioned table has none. Other tables have a task for
    every bucket: one without files reads nothing.
    """
    names, buckets = table.layout.partition_keys, table.options.bucket
    found: dict[tuple[str, int], list[Split]] = {}
    if not names:
        found = {(repr(()), bucket): [] for bucket in range(buckets)}
    for split in itertools.chain.from_iterable(tasks):
        place = repr(split.partition.values), split.bucket
        found.setdefault(place, []).append(split)
    if not found:
        return None
    firsts = [splits[0].partition for splits in found.values() if splits]
    kinds = [table.layout.column(name).type for name in names]
    arrays = [arrow_array([one.values[at] for one in firsts], k) for at, k in enumerate(kinds)]
    numbers = pa.array([bucket for _, bucket in found], pa.int32())
    keys = pa.RecordBatch.from_arrays([*arrays, numbers], names=[*names, BUCKET])
    return ByBucket((*names, column), buckets, list(map(tuple, found.values())), keys)
