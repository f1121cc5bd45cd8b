"""Deletes: the rows that are found get records of kind -D, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.kernels.ops import DELETE
from keyfold.read.provenance import stored_sequences
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table
from keyfold.tables import writes
from keyfold.tables.rows import keys
from keyfold.tables.scan import Scan
from keyfold.tables.session import Session
from keyfold.tables.where.condition import Condition, Where
from keyfold.wire.specs import KIND, WriteSpec
from keyfold.write import jobs

Found = Callable[[Table, Sequence[str]], Iterator[pa.RecordBatch]]


def by_keys(session: Session, load: writes.Load, given: Any) -> int | None:
    """Remove the rows of keys, in any form; returns the snapshot, None if none was there."""

    def found(table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        asked = keys.keys_of(table.layout, given, "deleting from")
        warm = session.lookups.of(table, columns)
        for some in keys.rounds(asked):
            is_there, rows = warm.look_up(some, session.spread(some.num_rows))
            yield rows.filter(is_there)

    return _deleted(session, load, found)


def by_condition(session: Session, load: writes.Load, where: Where) -> int | None:
    """Remove the rows that satisfy a condition; returns the snapshot, None if there was none."""

    def found(table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        condition = Condition.of(table.layout, where)
        return Scan(session, table, tuple(columns), condition).to_batches()

    return _deleted(session, load, found)


def _deleted(session: Session, load: writes.Load, found: Found) -> int | None:
    """Write a -D for each row that `found` gives of the table's snapshot, with the columns asked
    for. Raises ConflictError if another job changed such rows since that snapshot.
    """
    with session.working():
        table, spec, stored = _planned(load)
        rows = found(table, [*spec.columns, *stored.values(), *stored])
        return writes.committed(session, table, spec, map(partial(_records, spec, stored), rows))


@replanned
def _planned(load: writes.Load) -> tuple[Table, WriteSpec, Mapping[str, str]]:
    table = load()
    table.check_readable()
    stored = stored_sequences(table.layout)
    changes = jobs.RowChangeJob("DELETE", table.snapshot_id or 0, stored=tuple(stored.values()))
    return table, jobs.plan_job(table, table.layout.primary_key, changes=changes), stored


def _records(spec: WriteSpec, stored: Mapping[str, str], rows: pa.RecordBatch) -> pa.RecordBatch:
    names = [*spec.columns, *stored]
    kinds = pa.array(np.full(rows.num_rows, DELETE, dtype=np.int8))
    return pa.RecordBatch.from_arrays([*map(rows.column, names), kinds], [*names, KIND])
