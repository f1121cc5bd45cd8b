"""Functions as users write them, one of each form; `helper` and `LIMIT` are what they use."""

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import keyfold

LIMIT = 1000


@numba.njit
def helper(value):  # type: ignore[no-untyped-def]
    return min(value, LIMIT)


@keyfold.aggregate(retract=lambda total, value: total - value, identity=0)
def total(accumulator, value):  # type: ignore[no-untyped-def]
    """The sum."""
    return accumulator + value


@keyfold.aggregate(("INT", "DATE", "TIMESTAMP", "DOUBLE"))
def capped(accumulator, value):  # type: ignore[no-untyped-def]
    return helper(max(accumulator, value))


@keyfold.aggregate(("BIGINT", "DOUBLE"), nulls="see")
def poisoned(accumulator, value):  # type: ignore[no-untyped-def]
    """The sum, NULL for good once a NULL came."""
    if accumulator is None or value is None:
        return None
    return accumulator + value


@keyfold.aggregate("DOUBLE", identity=float("-inf"))
def greatest(accumulator, value):  # type: ignore[no-untyped-def]
    return max(accumulator, value)


@keyfold.aggregate("BOOLEAN", identity=False, retract=lambda odd, value: odd != value)
def odd(accumulator, value):  # type: ignore[no-untyped-def]
    return accumulator != value


@keyfold.aggregate(
    {"total": "DOUBLE", "weight": "DOUBLE", "times": "INT"},
    identity=(0.0, 0.0, 0),
    retract=lambda mean, value: (
        mean.total - value.total,
        mean.weight - value.weight,
        mean.times - value.times,
    ),
)
def weighted(mean, value):  # type: ignore[no-untyped-def]
    return mean.total + value.total, mean.weight + value.weight, mean.times + value.times


@keyfold.aggregate.pick("STRING")
def longest(best, value):  # type: ignore[no-untyped-def]
    """The longest text, the first of those."""
    return len(value) > len(best)


@keyfold.aggregate.pick()
def latest(best, value):  # type: ignore[no-untyped-def]
    return True


@keyfold.aggregate.combine()
def middle(values):  # type: ignore[no-untyped-def]
    """The middle one of sorted values."""
    return sorted(values)[len(values) // 2]


@keyfold.aggregate.combine(identity=b"", retract=lambda state, value: state.replace(value, b""))
def joined(values):  # type: ignore[no-untyped-def]
    return b"".join(values)


@keyfold.aggregate.gather()
def joined_words(values, offsets):  # type: ignore[no-untyped-def]
    """The words of a key with spaces between."""
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
    text = pc.binary_join(lists, " ")
    return pc.if_else(pa.array(np.diff(offsets) == 0), pa.scalar(None, values.type), text)


@keyfold.engine({"version": "BIGINT", "flagged": "BOOLEAN"})
def newest_unflagged(kept, row):  # type: ignore[no-untyped-def]
    """The row with the greatest version, of those that are not flagged."""
    if row.flagged is None or row.flagged or row.version is None:
        return False
    return (
        kept.flagged is None or kept.flagged or kept.version is None or row.version >= kept.version
    )


AGGREGATES = (
    total,
    capped,
    poisoned,
    greatest,
    odd,
    weighted,
    longest,
    latest,
    middle,
    joined,
    joined_words,
)
