"""Look-ups by key: of one row, of many, of all rows that share the leading columns of the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.errors import TableError
from keyfold.lookup.places import LookupPlan
from keyfold.lookup.plan import plan_lookup
from keyfold.lookup.rows import look_up
from keyfold.resources.cache import Cache
from keyfold.resources.threads import done, raised
from keyfold.storage.table import Table
from keyfold.tables.incoming import incoming
from keyfold.tables.session import Session
from keyfold.tables.where import leaves
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate

PLANS: Cache[LookupPlan] = Cache(64)
MOST_KEYS = 1 << 20  # of one round, whose rows are in memory twice
FEW_KEYS = 1 << 12  # up to these, one thread is faster than several


def rows_of(
    session: Session, table: Table, keys: pa.RecordBatch, columns: Sequence[str] | None
) -> tuple[pa.BooleanArray, pa.RecordBatch]:
    """Whether each key has a row in the table's snapshot, and these rows in the order of the keys,
    with NULLs where there is none.
    """
    names = tuple(table.layout.arrow_schema.names if columns is None else columns)
    number = table.snapshot_id  # which another snapshot may have after a rollback
    stamp = "" if number is None else table.files.stamp(table.snapshots.path(number))
    key = (table.layout.location, table.layout.identity, number, stamp, names)
    plan = PLANS.get(key)
    if plan is None:
        table.check_readable()
        plan = plan_lookup(table, names)
        PLANS.put(key, plan)
    if keys.num_rows <= FEW_KEYS or session.threads == 1:
        return look_up(plan, keys)
    parts = [
        replace(plan, places=plan.places[at :: session.threads]) for at in range(session.threads)
    ]
    working = partial(session.working, session.threads)
    jobs = [partial(look_up, part, keys) for part in parts if part.places]
    if not jobs:
        return look_up(plan, keys)
    return _united(list(raised(done(jobs, len(jobs), working))))


def _united(
    parts: Sequence[tuple[pa.BooleanArray, pa.RecordBatch]],
) -> tuple[pa.BooleanArray, pa.RecordBatch]:
    """The answers of several threads, each about buckets of its own, as one."""
    every = np.stack([found.to_numpy(zero_copy_only=False) for found, _ in parts])
    rows = every.argmax(axis=0) * every.shape[1] + np.arange(every.shape[1])
    whole = pa.concat_batches([rows_ for _, rows_ in parts])
    return pa.array(every.any(axis=0)), whole.take(pa.array(rows))


def keys_of(layout: TableLayout, keys: Any) -> pa.RecordBatch:
    """Keys that a user gives, in any form of rows, as one batch of the primary key's columns in the
    table's types. Raises TableError if they have other columns.
    """
    wanted = _primary_key(layout)
    found = incoming(layout, keys)
    if found.columns and {*found.columns} != {*wanted}:
        raise _of_other_columns(layout, found.columns)
    schema = pa.schema([layout.column(name).arrow_field for name in wanted])
    batches = [
        pa.RecordBatch.from_arrays([batch.column(name) for name in wanted], schema=schema)
        for batch in found.batches
    ]
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema)


def key_of(layout: TableLayout, key: Mapping[str, Any]) -> pa.RecordBatch:
    """One key as `keys_of` gives it. Raises TableError if it has other columns."""
    wanted = _primary_key(layout)
    if key.keys() != {*wanted}:
        raise _of_other_columns(layout, key)
    fields = [layout.column(name).arrow_field for name in wanted]
    try:
        arrays = [pa.array([key[field.name]], field.type) for field in fields]
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise TableError(f"table {layout.name}: {key!r} is no key: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _of_other_columns(layout: TableLayout, found: Any) -> TableError:
    return TableError(
        f"table {layout.name}: expected keys with the columns {', '.join(layout.primary_key)}, "
        f"found {', '.join(found) or 'none'}"
    )


def _primary_key(layout: TableLayout) -> tuple[str, ...]:
    if not layout.primary_key:
        raise TableError(f"table {layout.name} has no primary key to look up by")
    return layout.primary_key


def prefix_of(layout: TableLayout, given: Mapping[str, Any]) -> list[Predicate]:
    """Predicates for rows whose columns of the key have these values. Raises TableError if they
    are not the first of the key's columns, the partition's left out.
    """
    _primary_key(layout)
    leading = layout.key[: sum(name in layout.key for name in given)]
    if not given or {*given} - {*layout.partition_keys} != {*leading}:
        raise TableError(
            f"table {layout.name}: expected the first columns of the key "
            f"({', '.join(layout.primary_key)}), found {', '.join(given) or 'none'}"
        )
    return [leaves.compared(layout.column(name), "<=>", value) for name, value in given.items()]
