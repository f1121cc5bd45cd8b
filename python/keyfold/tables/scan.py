"""Scans: what a read takes, and the forms in which it gives the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.read import scan_plan, task
from keyfold.read.call_options import scan_options
from keyfold.read.folds.scan_aggregates import COUNT
from keyfold.read.scan_plan import ScanReport
from keyfold.storage.table import Table
from keyfold.tables.column_definitions import selected
from keyfold.tables.doors import doors
from keyfold.tables.rows.forms import Readable
from keyfold.tables.session import Session
from keyfold.tables.where import polars
from keyfold.tables.where.condition import Condition
from keyfold.wire.specs import Aggregate, ScanSpec, Split

_COUNTED = Aggregate((), ((COUNT, None),))


@doors(lambda scan: f"scan of table {scan.table.layout.name}")
@dataclass(frozen=True, repr=False)
class Scan(Readable):
    """A read of one snapshot, which is fixed when the scan is made. Rows are read when one of its
    methods asks for them, anew each time, in no order.
    """

    session: Session
    table: Table
    columns: tuple[str, ...]
    condition: Condition
    limit: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        where = f" where {self.condition}" if str(self.condition) else ""
        limit = "" if self.limit is None else f" limit {self.limit}"
        return (
            f"<scan of keyfold table {self.table.layout.name} at snapshot {self.snapshot}: "
            f"{', '.join(self.columns)}{where}{limit}>"
        )

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([self.table.layout.column(name).arrow_field for name in self.columns])

    @property
    def snapshot(self) -> int | None:
        """The id of the snapshot that is read; None if the table has no rows yet."""
        return self.table.snapshot_id

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        spec, tasks, _ = self._plan()
        makers = [partial(self._rows, spec, tasks, place) for place in range(len(tasks))]
        return self.session.streamed(makers, self.limit)

    def count(self) -> int:
        """The number of rows. Footers of files have it where these need no merge and the condition,
        if there is one, is about partitions; other rows are merged by their keys alone, or read
        with the columns of the condition.
        """
        if not self.condition.is_enforced:
            return sum(batch.num_rows for batch in self.narrowed([], None).to_batches())
        spec, tasks, _ = self._plan(_COUNTED)
        makers = [partial(task.read_task, spec, splits) for splits in tasks]
        found = sum(sum(b.column(0).to_pylist()) for b in self.session.streamed(makers, None))
        return found if self.limit is None else min(found, self.limit)

    def narrowed(self, columns: list[str] | None, limit: int | None) -> Scan:
        limits = [number for number in (self.limit, limit) if number is not None]
        names = self.columns if columns is None else tuple(columns)
        return replace(self, columns=names, limit=min(limits, default=None))

    def filtered(self, expression: Any, schema: Any) -> Scan:
        if self.limit is not None:  # the first rows are taken before they are filtered
            return self
        layout, held = self.table.layout, self.condition
        more = polars.conjuncts(layout, expression, schema)
        condition = Condition.over(layout, [*held.predicates, *more], held.expression)
        return replace(self, condition=condition)

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

    def _plan(
        self, aggregate: Aggregate | None = None
    ) -> tuple[ScanSpec, Sequence[Sequence[Split]], ScanReport]:
        threads = self.session.threads
        request = self.condition.request(self.columns, self.limit, threads, self.options)
        if aggregate is not None:
            request = replace(request, columns=(), limit=None, aggregate=aggregate)
        with self.session.working():
            return scan_plan.plan_read(self.table, request)

    def _rows(
        self, spec: ScanSpec, tasks: Sequence[Sequence[Split]], place: int
    ) -> Iterator[pa.RecordBatch]:
        rows = task.read_task(spec, tasks[place])
        return self.condition.shown(rows, spec.columns, self.columns)


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
    with session.working():
        asked = scan_options(table, options)
    layout = table.layout
    if limit is not None and limit < 0:
        raise TableError(f"scan of table {layout.name}: limit is {limit}; expected 0 or more")
    names = selected(layout, columns)
    for name in names:
        layout.column(name)
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise TableError(f"scan of table {layout.name}: column {repeated[0]} is asked for twice")
    return Scan(session, table, names, Condition.of(layout, where), limit, asked)
