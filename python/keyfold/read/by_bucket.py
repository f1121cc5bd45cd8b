"""Reading by bucket: each bucket is one task, so that Spark joins and groups without a shuffle.

Two tables hold equal keys in buckets of one number if their bucket keys are one column of one type,
and their numbers of buckets are equal. The type must be one whose values Spark compares as they are
hashed: not FLOAT (0.0 equals -0.0), CHAR (padding) or TIMESTAMP (hashed by its precision, which
Spark does not know).
"""

from __future__ import annotations

from collections.abc import Iterable

from keyfold.errors import NotSupportedError, TableError
from keyfold.options.calls import READ_BY_BUCKET
from keyfold.options.values import boolean
from keyfold.predicates.condition import is_exact
from keyfold.read.splits import Task
from keyfold.storage.table import Table
from keyfold.types.logical import Atomic
from keyfold.wire.specs import Split

POSSIBLE = "possible"  # what a session asks for: by bucket where that can be done


def bucket_column(table: Table, asked: str | None) -> str | None:
    """The column by whose bucket a scan is read; None if it is not to be. Raises NotSupportedError
    if a reader's option asks for it and the table can't be read so.
    """
    if asked is None or (asked != POSSIBLE and not _is_true(table, asked)):
        return None
    reason = _obstacle(table)
    if reason is None:
        return table.options.bucket_key[0]
    if asked == POSSIBLE:
        return None
    raise NotSupportedError(
        f"reading table {table.layout.name} with {READ_BY_BUCKET}: {reason}; leave the option out"
    )


def _is_true(table: Table, asked: str) -> bool:
    try:
        return boolean(asked)
    except ValueError as error:
        raise TableError(
            f"reading table {table.layout.name}: option {READ_BY_BUCKET}: expected {error}, found "
            f"'{asked}'"
        ) from None


def _obstacle(table: Table) -> str | None:
    layout, settings = table.layout, table.options
    if not layout.primary_key or settings.bucket <= 0:
        return "it has no fixed number of buckets"
    if layout.partition_keys:
        return "each of its partitions has buckets of its own"
    if len(settings.bucket_key) != 1:
        return f"its bucket key has several columns ({', '.join(settings.bucket_key)})"
    (name,) = settings.bucket_key
    kind = layout.column(name).type
    if not is_exact(layout, name) or (isinstance(kind, Atomic) and kind.name.startswith("TIME")):
        return f"its bucket key {name} is of a type whose equal values may be in several buckets"
    if {file.total_buckets for file in table.live_files()} - {settings.bucket}:
        return "some of its files are of another number of buckets; sys.rescale makes them anew"
    return None


def grouped(tasks: Iterable[Task], buckets: int) -> list[Task]:
    """One task for each bucket; that of a bucket without files reads nothing."""
    found: list[list[Split]] = [[] for _ in range(buckets)]
    for task in tasks:
        for split in task:
            found[split.bucket].append(split)
    return [tuple(splits) for splits in found]
