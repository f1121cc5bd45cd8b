"""The rows that each of some keys has, for a join: behind the place of its key, in the order of the
keys.

Rows may be looked up by the first columns of their key, by which they have their bucket. The rules
are those of Fluss' prefix lookup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from keyfold.errors import TableError
from keyfold.kernels.buffers import Rows
from keyfold.lookup.key_places import LookupPlan
from keyfold.lookup.rows_of_keys import by_bucket, key_columns, look_up, schema_of, stored, taken
from keyfold.options.parsing import parse
from keyfold.read.keyset import KeySet
from keyfold.wire.layout import TableLayout

PLACE = pa.field("_PLACE", pa.int64(), False)
FIRST_KEYS = 64
MOST_BYTES = 16 << 20
MOST_GROWTH = 8


def matches(plan: LookupPlan, by: Sequence[str], keys: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of `matches_schema`. `by` are the columns of the primary key, of which each key has
    at most one row; or those of a prefix, as `look_up_prefix` takes them, of which it has any
    number: few keys are then looked up at once if they have many rows.
    """
    if set(by) == set(plan.scan.layout.primary_key):
        found, rows = look_up(plan, keys)
        places = np.flatnonzero(found.to_numpy(zero_copy_only=False))
        yield _placed(places, rows if len(places) == rows.num_rows else rows.filter(found))
        return
    start, count = 0, FIRST_KEYS
    while start < keys.num_rows:
        of_keys, rows = look_up_prefix(plan, by, keys.slice(start, count))
        yield _placed(of_keys.to_numpy() + start, rows)
        start += count
        fitting = count * MOST_BYTES // max(rows.nbytes, 1)
        count = max(1, min(fitting, count * MOST_GROWTH))


def matches_schema(plan: LookupPlan) -> pa.Schema:
    """The place of a key, and the columns of the plan."""
    return pa.schema([PLACE, *schema_of(plan)])


def _placed(places: Rows, rows: pa.RecordBatch) -> pa.RecordBatch:
    schema = pa.schema([PLACE, *rows.schema])
    return pa.RecordBatch.from_arrays([pa.array(places), *rows.columns], schema=schema)


def look_up_prefix(
    plan: LookupPlan, by: Sequence[str], keys: pa.RecordBatch
) -> tuple[pa.Int64Array, pa.RecordBatch]:
    """All rows whose columns `by` are one of the keys, in the order of the keys and then of their
    own, and for each row the place of its key. `by` is the bucket key and the partition columns,
    the types are those of the table.

    Raises TableError if these columns don't tell the bucket of a row, or if they are the whole key.
    """
    layout = plan.scan.layout
    names = _bucket_key(layout, by)
    asked = key_columns(layout, (*layout.partition_keys, *names), keys)
    held: list[pa.RecordBatch] = []
    found = [np.zeros((2, 0), dtype=np.int64)]  # pairs of a key and a row of `held`
    count = 0
    for place, rows in by_bucket(plan, asked):
        of_bucket = asked.take(pa.array(rows))
        wanted, places = KeySet.of(layout, [of_bucket.column(name) for name in names])
        for batch in stored(plan, place, wanted):
            of_keys, of_batch = _pairs(places, wanted.places(batch))
            found.append(np.stack((rows[of_keys], of_batch + count)))
            held.append(batch.select(plan.columns))
            count += batch.num_rows
    pairs = np.concatenate(found, axis=1)
    pairs = pairs[:, np.argsort(pairs[0], kind="stable")]
    return pa.array(pairs[0]), taken(plan, held, np.ascontiguousarray(pairs[1]))


def _pairs(asked: Rows, of_rows: Rows) -> Rows:
    """All pairs of equal values in both: the place in the first, then that in the second."""
    order = np.argsort(asked, kind="stable")
    starts, stops = (np.searchsorted(asked[order], of_rows, side) for side in ("left", "right"))
    counts = stops - starts
    rows = np.repeat(np.arange(len(of_rows)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs: Rows = np.stack((order[np.repeat(starts, counts) + within], rows))
    return pairs


def _bucket_key(layout: TableLayout, by: Sequence[str]) -> tuple[str, ...]:
    """The bucket key, which `by` has to name beside the partition columns."""
    where = f"looking rows of table {layout.name} up by ({', '.join(by)})"
    names = parse(layout).bucket_key
    own = tuple(name for name in by if name not in layout.partition_keys)
    if own == layout.key:
        raise TableError(f"{where}: this is the primary key; look the rows up by key")
    if names != layout.key[: len(names)]:
        raise TableError(
            f"{where}: expected a bucket-key that begins the key ({', '.join(layout.key)}), found "
            f"({', '.join(names)})"
        )
    if own != names:
        raise TableError(
            f"{where}: expected the columns of bucket-key in its order ({', '.join(names)}), "
            f"found ({', '.join(own)})"
        )
    missing = [name for name in layout.partition_keys if name not in by]
    if missing:
        raise TableError(
            f"{where}: expected all partition columns, found no column {', '.join(missing)}"
        )
    return names
