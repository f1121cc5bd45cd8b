"""The tasks that write a table's files anew for another number of buckets (driver side).

Let d be the greatest common divisor of the two numbers of buckets. The rows of an old bucket b go
to the new buckets congruent to b modulo d, because bucket and hash have the same remainder by d.
So each new bucket merges the files that may hold its rows, as a full compaction would, and leaves
out the rows of others. Twice as many buckets read everything twice, half as many once.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from keyfold.compact.compaction_plan import LEAST_PIECE
from keyfold.compact.pick import PickRules
from keyfold.errors import NotSupportedError
from keyfold.files.sections import packed, runs, sections
from keyfold.merge.plan import check_mergeable
from keyfold.options.checks import check_option
from keyfold.options.parsing import parse
from keyfold.read.key_cuts import by_key
from keyfold.storage.commits.rescale import check_rescalable
from keyfold.storage.metadata.entries import LiveFile, split_of
from keyfold.storage.table import Table, reads_files
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CompactionSpec, Split, Task


@dataclass(frozen=True)
class Rescale:
    """One commit: `spec` has the layout with the new number of buckets."""

    job: str
    spec: CompactionSpec
    files: tuple[LiveFile, ...]
    tasks: tuple[Task, ...]


def files_to_rescale(table: Table, buckets: int) -> tuple[LiveFile, ...]:
    """All files, in the table's snapshot, of partitions with a file of another number of buckets.

    A writer that put rows beside files of another number put keys into two buckets.
    """
    live = table.live_files()
    due = {file.partition for file in live if file.total_buckets != buckets}
    return tuple(file for file in live if file.partition in due)


@reads_files
def plan_rescale(table: Table, buckets: int, parallelism: int) -> Rescale:
    """The tasks that give the table's snapshot this number of buckets. Raises TableError or
    NotSupportedError if it can't have that number, or is not for this session to read and write.
    """
    table.check_readable()
    table.check_writable(rows=True)
    check_option(table.layout, "bucket", str(buckets))
    if table.options.bucket < 1 or buckets < 1:
        raise NotSupportedError(
            f"table {table.layout.name} can't be rescaled from bucket = {table.options.bucket} to "
            f"{buckets}, expected a number from 1 for both: dynamic buckets (-1) grow by "
            "themselves, and where buckets are postponed (-2) each partition keeps its number"
        )
    check_mergeable(table.layout)
    check_rescalable(table)
    options = {**table.layout.options, "bucket": str(buckets)}
    layout = replace(table.layout, options=options)
    files = files_to_rescale(table, buckets)
    by_partition: dict[tuple[object, ...], list[LiveFile]] = {}
    for file in files:
        by_partition.setdefault(file.partition, []).append(file)
    share = -(-sum(file.size for file in files) // max(parallelism, 1))
    piece = max(LEAST_PIECE, min(share, parse(layout).target_file_size))
    tasks = [task for found in by_partition.values() for task in _tasks(layout, found, piece)]
    spec = CompactionSpec(layout, table.stored_schemas(files), table.snapshot_id)
    return Rescale(str(uuid.uuid4()), spec, files, tuple(tasks))


def _tasks(layout: TableLayout, files: Sequence[LiveFile], piece: int) -> Iterator[Task]:
    """The tasks of one partition."""
    options = parse(layout)
    level = max(PickRules.of(options).levels - 1, *(file.level for file in files))
    common = math.gcd(options.bucket, *(file.total_buckets for file in files))
    whole = split_of(layout, (files[0].partition, None))
    for remainder in range(common):
        found = [f.in_partition(options) for f in files if f.bucket % common == remainder]
        if not found:
            continue
        shares = options.bucket // common
        splits = list(_splits(layout, whole, found, piece * shares))
        for bucket in range(remainder, options.bucket, common):
            for split in splits:
                oldest = (True,) * len(split.sections)
                yield Task(replace(split, bucket=bucket), level, oldest, None, options.bucket)


def _splits(
    layout: TableLayout, base: Split, files: Sequence[LiveFile], most: int
) -> Iterator[Split]:
    """Neighbouring sections of at most about `most` bytes together. A larger one is cut by key."""
    for held in packed(sections(files), _bytes, most):
        whole = replace(base, sections=tuple(runs(section) for section in held))
        pieces = math.ceil(_bytes(held[0]) / most) if len(held) == 1 else 1
        yield from by_key(layout, whole, held[0], pieces)


def _bytes(files: Sequence[LiveFile]) -> int:
    return sum(file.size for file in files)
