"""How many parts of its keys a table is written in."""

from keyfold.options.declared import DEFAULT_BUCKETS, TableOptions

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
