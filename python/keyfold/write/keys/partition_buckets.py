"""The numbers of buckets that partitions have, of which a job with postponed ones must know (driver
side).
"""

from __future__ import annotations

from typing import Any

from keyfold.options.clusters import first_buckets, is_postponing
from keyfold.storage.table import Table
from keyfold.wire.partitions import POSTPONED, Partition
from keyfold.wire.specs import PartitionBuckets


def partition_buckets(table: Table) -> tuple[PartitionBuckets, ...]:
    """The numbers of buckets of the table's partitions that new ones do not begin with."""
    options = table.options
    if options.bucket != POSTPONED or is_postponing(options):
        return ()
    return tuple(
        PartitionBuckets(Partition.of(table.layout, values), number)
        for values, number in counts_of(table).items()
        if number != first_buckets(options)
    )


def counts_of(table: Table) -> dict[tuple[Any, ...], int]:
    """The number of buckets of each partition that has rows in buckets."""
    live = table.live()
    return live.totals({values for one, _ in live.parts() for values in one.partitions})
