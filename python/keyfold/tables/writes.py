"""Writes: one job and one commit of the rows that a user gives, then the compaction that is due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import NotSupportedError, TableError
from keyfold.files.buckets import BucketKey
from keyfold.lookup.of_tasks import TaskLookups
from keyfold.resources.threads import fanned
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table, open_handle
from keyfold.tables import calls
from keyfold.tables.rows.incoming import Incoming
from keyfold.tables.session import Session
from keyfold.tables.where import leaves, sql
from keyfold.types.literals import arrow_array, value_of
from keyfold.wire.layout import Column, TableLayout, sql_name
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import KIND, NAMED, CommitMessage, WriteSpec
from keyfold.write import jobs
from keyfold.write.job import Job
from keyfold.write.keys.row_buckets import places_of
from keyfold.write.targets import check_ids_left, leaves_others, names_of, target_text
from keyfold.write.writer import parts, write_parts


class Destination(Protocol):
    """A table as a call changes it: its state now, and what becomes of the files of a job."""

    @property
    def session(self) -> Session:
        """The connection."""

    def load(self) -> Table:
        """The table as it is now."""

    def publish(
        self, table: Table, spec: WriteSpec, messages: Sequence[CommitMessage]
    ) -> int | None:
        """Publish the files of a job that was planned on a table; returns the snapshot, None if
        nothing changed.
        """


@dataclass(frozen=True)
class ByCommit:
    """The newest state of a table, which each call changes by a commit of its own."""

    session: Session
    load: Callable[[], Table]

    def publish(
        self, table: Table, spec: WriteSpec, messages: Sequence[CommitMessage]
    ) -> int | None:
        """Publish the files, then compact if it is due."""
        newest = open_handle(table.handle, self.session.options, latest=True)
        published = jobs.publish(newest, spec, messages)
        if published is not None:
            calls.after_write(self.session, table, messages)
        return published


def written(
    to: Destination,
    rows: Incoming,
    *,
    mode: str = "append",
    filters: Sequence[Predicate] = (),
    options: Mapping[str, str],
    only_new: bool = False,
) -> int | None:
    """Write the rows by one job; returns its snapshot, None if nothing changed. `options` are those
    of the write. With `only_new` rows of stored keys are left out. On an error nothing is left
    behind.
    """
    with to.session.working():
        table, rows, spec = _planned(to, rows, mode, filters, options, only_new)
        return committed(to, table, spec, rows.batches)


def truncated(to: Destination, options: Mapping[str, str]) -> int | None:
    """Remove all rows; returns the snapshot, None if there were none."""
    with to.session.working():
        table, spec = _emptying(to, options)
        return committed(to, table, spec, iter(()))


@replanned
def _emptying(to: Destination, options: Mapping[str, str]) -> tuple[Table, WriteSpec]:
    table = to.load()
    names = table.layout.arrow_schema.names
    return table, jobs.plan_job(table, names, options=options, mode="overwrite")


def committed(
    to: Destination,
    table: Table,
    spec: WriteSpec,
    batches: Iterator[pa.RecordBatch],
    told: Callable[[WriteSpec], WriteSpec] = lambda spec: spec,
) -> int | None:
    """Write the rows of a job planned on a table and publish them; returns the snapshot. `told` is
    asked at the end for the job with what its snapshot tells of it.
    """
    plans = jobs.task_lookups(table, spec)
    messages = _messages(to.session, spec, batches, plans)
    try:
        return to.publish(table, told(spec), messages)
    except BaseException:
        jobs.abandon(table, spec, messages)
        raise


@replanned
def _planned(
    to: Destination,
    rows: Incoming,
    mode: str,
    filters: Sequence[Predicate],
    options: Mapping[str, str],
    only_new: bool,
) -> tuple[Table, Incoming, WriteSpec]:
    """The job. In a table whose writes leave other columns alone it names the columns of the rows;
    elsewhere, and in new rows, the others get their DEFAULTs.
    """
    table, seen = to.load(), None
    check_ids_left(table.layout, target_text(rows.own))
    if leaves_others(table.layout) and rows.columns and not only_new:
        seen = target_text(rows.own)
    elif rows.columns:  # an empty list names none
        rows = _filled(table.layout, rows)
    if rows.columns:
        _check_has_key(table.layout, rows)
    columns = rows.own
    has_kinds, has_names = KIND in rows.columns, NAMED in rows.columns
    last = ((KIND,) if has_kinds else ()) + ((NAMED,) if has_names else ())
    spec = jobs.plan_job(
        table,
        columns,
        options=options,
        seen=seen,
        mode=mode,
        filters=filters,
        kinds=has_kinds,
        own_columns=has_names,
        only_new=only_new,
    )
    return table, rows.select(table.layout.name, (*columns, *last)), spec


def _check_has_key(layout: TableLayout, rows: Incoming) -> None:
    if lacking := [name for name in layout.primary_key if name not in rows.columns]:
        raise TableError(
            f"writing table {layout.name}: the rows have no column {lacking[0]} of the primary "
            f"key; they have {', '.join(rows.own)}"
        )


def _messages(
    session: Session,
    spec: WriteSpec,
    batches: Iterator[pa.RecordBatch],
    plans: TaskLookups,
) -> list[CommitMessage]:
    """The files of the rows. Each thread writes the buckets that it meets first."""
    threads = session.threads
    owners: dict[BucketKey, int] = {}
    places = places_of(spec)

    def owner(part: tuple[BucketKey, pa.RecordBatch]) -> int:
        return owners.setdefault(part[0], len(owners) % threads)

    working = partial(session.working, threads + 1)
    with working():
        run = partial(write_parts, spec, plans=plans)
        results = fanned(parts(spec, batches, places), owner, run, threads, working)
    messages = [m for found in results if isinstance(found, list) for m in found]
    if errors := [found for found in results if isinstance(found, BaseException)]:
        Job(spec.layout, messages).remove()
        raise errors[0]
    return places.noted(messages)


def _filled(layout: TableLayout, rows: Incoming) -> Incoming:
    """The rows with the DEFAULTs of columns that they, or some of them, lack."""
    has_names = NAMED in rows.columns
    without = () if has_names else rows.columns
    values = defaults(layout, without)
    if not values:
        return rows
    names = (*rows.columns, *(name for name in values if name not in rows.columns))
    fill = partial(_fill, values, names, rows.own)
    return Incoming(names, map(fill, rows.batches))


def _fill(
    values: Mapping[str, pa.Scalar],
    names: Sequence[str],
    given: Sequence[str],
    batch: pa.RecordBatch,
) -> pa.RecordBatch:
    """A batch with these columns, which has some of them. Values fill those that rows lack."""
    arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
    if NAMED not in arrays:
        arrays |= {name: pa.repeat(value, batch.num_rows) for name, value in values.items()}
        return pa.RecordBatch.from_arrays([arrays[name] for name in names], names=list(names))
    encoded = arrays[NAMED].dictionary_encode(null_encoding="encode")
    named = [given if text is None else names_of(text) for text in encoded.dictionary.to_pylist()]
    for name, value in values.items():
        is_named = pa.array([name in some for some in named]).take(encoded.indices)
        own = arrays.get(name, value)
        arrays[name] = pc.if_else(is_named, own, value)
    texts = [target_text(dict.fromkeys((*some, *values))) for some in named]
    arrays[NAMED] = pa.array(texts, pa.utf8()).take(encoded.indices)
    return pa.RecordBatch.from_arrays([arrays[name] for name in names], names=list(names))


def defaults(layout: TableLayout, but: Collection[str] = ()) -> dict[str, pa.Scalar]:
    """The values of all DEFAULTs `but` those of some columns. Raises NotSupportedError if one is
    not a constant.
    """
    columns = [c for c in layout.columns if c.default is not None and c.name not in but]
    return {column.name: _default(layout, column) for column in columns}


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
