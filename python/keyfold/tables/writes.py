"""Writes: one job and one commit of the rows that a user gives, then the compaction that is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.dialects.statement import quoted
from keyfold.errors import NotSupportedError, TableError
from keyfold.files.buckets import Place
from keyfold.options.calls import MERGE_MODE
from keyfold.resources.threads import fanned
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle
from keyfold.tables import compaction
from keyfold.tables.rows.incoming import Incoming
from keyfold.tables.session import Session
from keyfold.tables.where import leaves, sql
from keyfold.types.literals import arrow_array, value_of
from keyfold.wire.layout import Column, TableLayout, sql_name
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import KIND, CommitMessage, WriteSpec
from keyfold.write import jobs
from keyfold.write.job import Job
from keyfold.write.targets import folds_columns
from keyfold.write.writer import parts, write_parts

Load = Callable[[], Table]


def written(
    session: Session,
    load: Load,
    rows: Incoming,
    *,
    mode: str = "append",
    filters: Sequence[Predicate] = (),
    merge_mode: str | None = None,
) -> int | None:
    """Write the rows in one commit; returns its snapshot, None if nothing changed. `load` gives the
    table as it is now. On an error nothing is left behind.
    """
    options = {} if merge_mode is None else {MERGE_MODE: merge_mode}
    with session.working():
        table, rows, spec = _planned(load, rows, mode, filters, options)
        return committed(session, table, spec, rows.batches)


def committed(
    session: Session, table: Table, spec: WriteSpec, batches: Iterator[pa.RecordBatch]
) -> int | None:
    """Write the rows of a job planned on a table and publish them; returns the snapshot."""
    messages = _messages(session, spec, batches)
    try:
        newest = open_handle(table.handle, session.options, latest=True)
        published = jobs.publish(newest, spec, messages)
    except BaseException:
        jobs.abandon(table, spec, messages)
        raise
    if published is not None:
        compaction.after_write(session, table, messages)
    return published


@replanned
def _planned(
    load: Load, rows: Incoming, mode: str, filters: Sequence[Predicate], options: Mapping[str, str]
) -> tuple[Table, Incoming, WriteSpec]:
    """The job. In a table that folds column by column it names the columns of the rows; elsewhere
    the others get their DEFAULTs.
    """
    table = load()
    seen, kinds = None, (KIND,) if KIND in rows.columns else ()
    if folds_columns(table.layout) and rows.columns:
        seen = ",".join(quoted(name) for name in rows.columns if name != KIND)
    else:
        rows = _filled(table.layout, rows)
    if rows.columns:
        _check_has_key(table.layout, rows)
    columns = tuple(name for name in rows.columns if name != KIND)
    if kinds:
        rows = rows.select(table.layout.name, (*columns, *kinds))
    spec = jobs.plan_job(
        table, columns, options=options, seen=seen, mode=mode, filters=filters, kinds=bool(kinds)
    )
    return table, rows, spec


def _check_has_key(layout: TableLayout, rows: Incoming) -> None:
    if lacking := [name for name in layout.primary_key if name not in rows.columns]:
        raise TableError(
            f"writing table {layout.name}: the rows have no column {lacking[0]} of the primary "
            f"key; they have {', '.join(name for name in rows.columns if name != KIND)}"
        )


def _messages(
    session: Session, spec: WriteSpec, batches: Iterator[pa.RecordBatch]
) -> list[CommitMessage]:
    """The files of the rows. Each thread writes the buckets that it meets first."""
    threads = session.threads
    owners: dict[Place, int] = {}

    def owner(part: tuple[Place, pa.RecordBatch]) -> int:
        return owners.setdefault(part[0], len(owners) % threads)

    working = partial(session.working, threads + 1)
    with working():
        run = partial(write_parts, spec)
        results = fanned(parts(spec, batches), owner, run, threads, working)
    messages = [m for found in results if isinstance(found, list) for m in found]
    if errors := [found for found in results if isinstance(found, BaseException)]:
        Job(spec.layout, messages).remove()
        raise errors[0]
    return messages


def _filled(layout: TableLayout, rows: Incoming) -> Incoming:
    """The rows with the DEFAULTs of columns that they lack."""
    lacking = [c for c in layout.columns if c.default is not None and c.name not in rows.columns]
    if not lacking:
        return rows
    values = [_default(layout, column) for column in lacking]
    names = (*rows.columns, *(column.name for column in lacking))

    def filled(batch: pa.RecordBatch) -> pa.RecordBatch:
        more = [pa.repeat(value, batch.num_rows) for value in values]
        return pa.RecordBatch.from_arrays([*batch.columns, *more], names=list(names))

    return Incoming(names, map(filled, rows.batches))


def _default(layout: TableLayout, column: Column) -> pa.Scalar:
    """The value of a DEFAULT, which is SQL. Raises NotSupportedError if it is not a constant."""
    try:
        value = leaves.literal(column, sql.constant(column.default or ""))
    except TableError as error:
        raise NotSupportedError(
            f"writing table {layout.name}: column {sql_name(column.name)} has a DEFAULT that Spark "
            f"computes ({error}): give the rows a value for it"
        ) from None
    if value.value is None:
        return pa.scalar(None, column.arrow_field.type)
    found: Any = value_of(value, column.type)
    if isinstance(found, tuple):  # floating numbers, as they are compared
        found = found[1] if found[0] == 0 else float("nan")
    return arrow_array([found], column.type)[0]
