"""How many parts of its keys a table is written in."""

from typing import Any

from keyfold.options.declared import DEFAULT_BUCKETS, TableOptions
from keyfold.wire.layout import TableLayout

MOST_BUCKETS = 32767  # of a partition


def clusters(options: TableOptions) -> int:
    """The parts of keys, by their hash, that are written apart: those of each bucket, or those that
    get dynamic buckets of their own.
    """
    if not options.is_dynamic:
        return options.bucket
    given = options.first_buckets, options.most_buckets
    bounds = [number for number in given if number is not None and number > 0]
    return min(options.bucket_assigners or DEFAULT_BUCKETS, *bounds, MOST_BUCKETS)


def bucketing(layout: TableLayout, options: TableOptions) -> dict[str, Any]:
    """The number of these parts, and the columns by which rows are sent to tasks: keys
    that are one across partitions go to one, whatever their partition.
    """
    keys = list(options.bucket_key)
    clustering = keys if layout.spans_partitions else [*keys, *layout.partition_keys]
    return {"buckets": clusters(options), "keys": keys, "clustering": clustering}
