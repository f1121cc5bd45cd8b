"""The changes of a range of snapshots, read as rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import pyarrow as pa

from keyfold.changelog import changed_rows, changes_plan, snapshot_ranges, views
from keyfold.changelog.snapshot_ranges import SnapshotRange
from keyfold.changelog.specs import ChangeSplit, ChangesRequest, ChangesSpec
from keyfold.errors import NotSupportedError, TableError
from keyfold.storage.history.versions import resolve
from keyfold.storage.table import Table
from keyfold.tables.doors import doors
from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.rows.forms import Readable
from keyfold.tables.rows.timestamps import millis_of
from keyfold.tables.session import Session
from keyfold.tables.where.condition import Condition, Where

Version = int | str | datetime
VIEWS = tuple(found.name for found in (views.CHANGES, views.AUDIT_LOG, views.BINLOG, views.ROWS))


@doors(lambda found: f"changes of table {found.table.layout.name}")
@dataclass(frozen=True)
class Changes(Readable):
    """Changes, which are read when one of its methods asks for them, anew each time. The changes of
    one key come in their order; others in none.
    """

    session: Session = field(repr=False)
    table: Table = field(repr=False)
    asked: ChangesRequest
    columns: tuple[str, ...]
    condition: Condition = field(repr=False)
    limit: int | None = None

    @property
    def schema(self) -> pa.Schema:
        layout = self.table.layout
        return views.schema_of(views.view(self.asked.view), layout, self.columns)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        request = self.condition.request(self.columns, self.limit, self.session.threads)
        with self.session.working():
            spec, tasks, _ = changes_plan.plan_changes(
                self.table, self.asked, request, in_order=True
            )
        makers = [partial(self._read, spec, splits) for splits in tasks]
        return self.session.streamed(makers, self.limit)

    def _read(self, spec: ChangesSpec, splits: Sequence[ChangeSplit]) -> Iterator[pa.RecordBatch]:
        return self.condition.shown(
            changed_rows.read_task(spec, splits), spec.columns, self.columns
        )


def changes(
    session: Session,
    table: Table,
    after: Version,
    until: Version | None,
    columns: Sequence[str] | None,
    where: Where,
    *,
    view: str,
    net: bool,
    limit: int | None,
) -> Changes:
    """The changes of a loaded table. Raises TableError if the range, a column or the view is
    unknown, NotSupportedError if the table has no changes that can be read.
    """
    table.check_readable()
    layout = table.layout
    if view not in VIEWS:
        raise TableError(
            f"changes of table {layout.name}: view is '{view}'; expected one of {', '.join(VIEWS)}"
        )
    if where is not None and not views.view(view).is_plain:
        raise NotSupportedError(
            f"changes of table {layout.name}: view {view} has lists, which take no condition"
        )
    found = _range(table, after, until)
    asked = ChangesRequest(view, found.after, found.until, net, True)
    known = views.columns_of(views.view(view), layout)
    names = tuple(matched(known, name) or name for name in (known if columns is None else columns))
    views.check_columns(views.view(view), layout, names)
    return Changes(session, table, asked, names, Condition.of(layout, where), limit)


def _range(table: Table, after: Version, until: Version | None) -> SnapshotRange:
    if isinstance(after, datetime):
        if until is not None and not isinstance(until, datetime):
            raise _mixed(table)
        what = f"changes of table {table.layout.name}"
        end = None if until is None else millis_of(f"{what}: until", until) * snapshot_ranges.MICROS
        start = millis_of(f"{what}: after", after) * snapshot_ranges.MICROS
        return snapshot_ranges.by_timestamp(table, start, False, end, True)
    if isinstance(until, datetime):
        raise _mixed(table)
    if until is None and table.snapshot_id is None:
        return SnapshotRange(0, 0)
    return snapshot_ranges.between(table, _id(table, after), _id(table, until))


def _id(table: Table, version: int | str | None) -> str:
    """The id of a snapshot, of the newest one for None; of a tag, that of its snapshot."""
    text = str(table.snapshot_id if version is None else version)
    return text if text.isdigit() else str(resolve(table, text)[0].id)


def _mixed(table: Table) -> TableError:
    return TableError(
        f"changes of table {table.layout.name}: expected two times or two versions as the range"
    )
