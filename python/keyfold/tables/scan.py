"""Scans: what a read takes, and the forms in which it gives the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.merge.plan import plan as merge_plan
from keyfold.options.calls import READ
from keyfold.read import planner, task
from keyfold.read.call_options import call_options
from keyfold.read.planner import ScanReport
from keyfold.resources.threads import streamed
from keyfold.storage.support import check_asked
from keyfold.storage.table import Table
from keyfold.tables import optional
from keyfold.tables.session import Session
from keyfold.tables.where.condition import Condition
from keyfold.wire.specs import Json, ScanSpec, Split


@dataclass(frozen=True)
class Scan:
    """A read of one snapshot, which is fixed when the scan is made; nothing is read before one of
    its methods asks for rows. Each asks anew. Rows come in no order.

    It has Arrow's C stream interface, so that DuckDB, Polars, pandas and others take it as it is.
    """

    session: Session = field(repr=False)
    table: Table = field(repr=False)
    columns: tuple[str, ...]
    condition: Condition = field(repr=False)
    limit: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        """The names and Arrow types of the rows."""
        return pa.schema([self.table.layout.column(name).arrow_field for name in self.columns])

    @property
    def snapshot(self) -> int | None:
        """The id of the snapshot that is read; None if the table has no rows yet."""
        return self.table.snapshot_id

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches, which threads read ahead.

        Raises SnapshotExpiredError if the snapshot expired meanwhile, CorruptDataError if a file is
        not what its metadata says.
        """
        spec, tasks, _ = self._plan()
        makers = [partial(self._rows, spec, splits) for splits in tasks]
        share = min(self.session.threads, len(tasks)) or 1
        working = partial(self.session.working, share)
        found: Iterator[pa.RecordBatch] = streamed(makers, self.session.threads, working)
        return found if self.limit is None else _limited(found, self.limit)

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def to_arrow(self) -> pa.Table:
        """All rows in memory."""
        return pa.Table.from_batches(self.to_batches(), self.schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows as dictionaries."""
        found: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return found

    def to_pandas(self, **how: Any) -> Any:
        """All rows as a DataFrame of pandas; `how` is for pyarrow's `Table.to_pandas`.

        Raises EnvironmentMismatchError if pandas is not installed.
        """
        optional.library("pandas", "to_pandas")
        return self.to_arrow().to_pandas(**how)

    def to_polars(self, *, lazy: bool = False) -> Any:
        """All rows as a DataFrame of Polars; with `lazy` a LazyFrame, of which a query reads only
        the columns and the number of rows that it uses.

        Raises EnvironmentMismatchError if Polars is not installed.
        """
        polars = optional.library("polars", "to_polars")
        if not lazy:
            return polars.from_arrow(self.to_arrow())
        register = optional.library("polars.io.plugins", "to_polars").register_io_source
        return register(partial(_polars_frames, self), schema=self._empty(polars).schema)

    def _empty(self, polars: Any) -> Any:
        return polars.from_arrow(self.schema.empty_table())

    def to_duckdb(self, connection: Any, name: str) -> Any:
        """The rows as a view of that name in a connection of DuckDB; each query reads them anew.
        Returns the connection. Raises EnvironmentMismatchError if DuckDB is not installed.
        """
        optional.library("duckdb", "to_duckdb")
        connection.register(name, self)
        return connection

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's C stream interface."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def explain(self) -> dict[str, Any]:
        """The plan: snapshot, files read and left out, their rows and bytes before the merge, the
        conditions that leave out files, and the number of tasks.
        """
        _, tasks, report = self._plan()
        return {
            "snapshot": report.snapshot,
            "files": report.files_read,
            "files_skipped": report.files_total - report.files_read,
            "rows": report.rows,
            "bytes": report.bytes,
            "pushed": report.pushed,
            "tasks": len(tasks),
        }

    def _plan(self) -> tuple[ScanSpec, Sequence[Sequence[Split]], ScanReport]:
        condition = self.condition
        names = [*self.columns, *(n for n in condition.columns if n not in self.columns)]
        with self.session.working():
            spec, tasks, report = planner.plan(
                self.table,
                names,
                condition.predicates,
                self.limit if condition.is_enforced else None,
                self.options,
                cores=self.session.threads,
                enforced=condition.enforced,
            )
            merge_plan(spec.layout, spec.columns)  # refuses here what this session lacks
        return spec, tasks, report

    def _rows(self, spec: ScanSpec, splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
        batches = task.read_task(spec, splits)
        if not self.condition.is_enforced:
            batches = self.condition.kept(batches)
        if spec.columns == self.columns:
            return batches
        return (batch.select(list(self.columns)) for batch in batches)


def scan(
    session: Session,
    table: Table,
    columns: Sequence[str] | None,
    where: Any,
    limit: int | None,
    options: Mapping[str, str],
) -> Scan:
    """The scan of a loaded table. Raises TableError if a column is unknown or the limit negative,
    NotSupportedError if the table can't be read.
    """
    table.check_readable()
    layout = table.layout
    check_asked(layout, options)
    if limit is not None and limit < 0:
        raise TableError(f"scan of table {layout.name}: limit is {limit}; expected 0 or more")
    names = layout.arrow_schema.names if columns is None else list(columns)
    for name in names:
        layout.column(name)
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise TableError(f"scan of table {layout.name}: column {repeated[0]} is asked for twice")
    with session.working():
        asked = call_options(READ, table, options)
    return Scan(session, table, tuple(names), Condition.of(layout, where), limit, asked)


def found_by(
    session: Session, table: Table, columns: Sequence[str] | None, predicates: Sequence[Json]
) -> Scan:
    """The scan of the rows that satisfy predicates over the key."""
    found = scan(session, table, columns, None, None, {})
    return replace(found, condition=Condition.over(table.layout, predicates))


def _limited(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    left = limit
    for batch in batches if limit else ():
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return


def _polars_frames(
    found: Scan,
    with_columns: list[str] | None,
    predicate: Any,
    n_rows: int | None,
    batch_size: int | None,
) -> Iterator[Any]:
    """What a query of Polars asks for: some columns, and the first rows that pass its own filter,
    which Polars applies here.
    """
    polars = optional.library("polars", "to_polars")
    columns = tuple(found.columns if with_columns is None else with_columns)
    is_short = predicate is None and n_rows is not None
    limits = [n for n in (found.limit, n_rows if is_short else None) if n is not None]
    asked = Scan(
        found.session,
        found.table,
        columns,
        found.condition,
        min(limits, default=None),
        found.options,
    )
    for batch in asked.to_batches():
        frame = polars.from_arrow(batch)
        frame = frame if predicate is None else frame.filter(predicate)
        if n_rows is not None:
            frame, n_rows = frame.head(n_rows), max(0, n_rows - len(frame))
        yield frame
        if n_rows == 0:
            return
