"""How many parts of its keys a table is written in."""

from typing import Any

from keyfold.options.declared import DEFAULT_BUCKETS, TableOptions
from keyfold.options.unparsed import FIRST_BUCKETS, MOST_FIRST, READS_WAITING, TO_BUCKETS
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import POSTPONED

MOST_BUCKETS = 32767  # of a partition


def clusters(options: TableOptions) -> int:
    """The parts of keys, by their hash, that are written apart: those of each bucket, or those that
    get dynamic buckets of their own.
    """
    if options.bucket == POSTPONED:
        return first_buckets(options)
    if not options.is_dynamic:
        return options.bucket
    given = options.first_buckets, options.most_buckets
    bounds = [number for number in given if number is not None and number > 0]
    return min(options.bucket_assigners or DEFAULT_BUCKETS, *bounds, MOST_BUCKETS)


def first_buckets(options: TableOptions) -> int:
    """The number of buckets of a partition of a table with postponed ones in which none has rows
    yet.
    """
    return min(options[FIRST_BUCKETS] or DEFAULT_BUCKETS, options[MOST_FIRST])


def is_postponing(options: TableOptions) -> bool:
    """Whether jobs write rows that get their buckets later."""
    return options.bucket == POSTPONED and not options[TO_BUCKETS]


def reads_waiting(options: TableOptions) -> bool:
    """Whether scans merge the rows that have no buckets yet."""
    return options.bucket == POSTPONED and options[READS_WAITING]


def bucketing(layout: TableLayout, options: TableOptions) -> dict[str, Any]:
    """The number of these parts, and the columns by which rows are sent to tasks: keys
    that are one across partitions go to one, whatever their partition.
    """
    keys = list(options.bucket_key)
    clustering = keys if layout.spans_partitions else [*keys, *layout.partition_keys]
    return {"buckets": clusters(options), "keys": keys, "clustering": clustering}
