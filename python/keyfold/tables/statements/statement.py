"""One statement that changes rows: its job, and the records of the rows that it changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER
from keyfold.read.call_options import as_changed
from keyfold.read.provenance import stored_sequences
from keyfold.storage.metadata.snapshots import replanned
from keyfold.storage.table import Table
from keyfold.tables.rows import keys
from keyfold.tables.scan import Scan
from keyfold.tables.where.condition import Condition, Where
from keyfold.tables.writes import Destination, committed
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import KIND, WriteSpec
from keyfold.write import jobs
from keyfold.write.row_changes import MOVED

Flags = npt.NDArray[np.bool_]
Rows = Mapping[str, pa.Array]
_DONE = {INSERT: "inserted", UPDATE_AFTER: "updated", MOVED: "updated", DELETE: "deleted"}


@dataclass(frozen=True)
class ChangeStatement:
    """A job that changes rows of the table's snapshot. `stored` are the sequence fields, by the
    metadata columns that have the values which are stored of a row.
    """

    command: str
    to: Destination
    table: Table
    spec: WriteSpec
    stored: Mapping[str, str]
    _counts: Counter[int] = field(default_factory=Counter)

    @property
    def layout(self) -> TableLayout:
        return self.table.layout

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of the rows that it changes."""
        return tuple(dict.fromkeys((*self.spec.columns, *self.stored.values(), *self.stored)))

    def looked_up(self, asked: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows of keys, which are in the form of `keys_of`; those that are not there are left
        out.
        """
        warm = self.to.session.lookups.of(as_changed(self.table), self.read)
        for some in keys.rounds(asked):
            is_there, rows = warm.look_up(some, self.to.session.spread(some.num_rows))
            yield rows.filter(is_there)

    def scanned(self, where: Where = None) -> Iterator[pa.RecordBatch]:
        """The rows that satisfy a condition."""
        condition = Condition.of(self.layout, where)
        return Scan(self.to.session, as_changed(self.table), self.read, condition).to_batches()

    def no_rows(self) -> pa.RecordBatch:
        """Rows of `read`, of which there are none."""
        types = [self.layout.column(self.stored.get(n, n)).arrow_field.type for n in self.read]
        return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in types], list(self.read))

    def deleted(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Records that remove rows, of which `read` has the columns."""
        key = {name: rows.column(name) for name in self.layout.primary_key}
        return self._records(rows.num_rows, key, rows, DELETE)

    def inserted(self, rows: int, columns: Rows) -> pa.RecordBatch:
        """Records of new rows; a column that is not there is NULL."""
        return self._records(rows, columns, None, INSERT)

    def updated(self, rows: pa.RecordBatch, columns: Rows) -> Iterator[pa.RecordBatch]:
        """Records that put rows with the new values of some columns in the place of `rows`. Where
        the key is another one, the row with the old key is removed.
        """
        new = {name: columns.get(name, rows.column(name)) for name in self.spec.columns}
        key = [name for name in self.layout.primary_key if name in columns]
        moves = [~_alike(rows.column(name), columns[name]) for name in key]
        moved: Flags = reduce(np.logical_or, moves, np.zeros(rows.num_rows, dtype=bool))
        if moved.any():
            yield self.deleted(rows.filter(pa.array(moved)))
        for kind, flags in ((MOVED, moved), (UPDATE_AFTER, ~moved)):
            if flags.any():
                some = {name: array.filter(pa.array(flags)) for name, array in new.items()}
                old = rows.filter(pa.array(flags))
                yield self._records(old.num_rows, some, old, kind)

    def _records(
        self, rows: int, columns: Rows, old: pa.RecordBatch | None, kind: int
    ) -> pa.RecordBatch:
        """Records of a kind, with the stored values of the rows that they replace."""
        self._counts[kind] += rows
        arrays = []
        for name in self.spec.columns:
            nulls = pa.nulls(rows, self.layout.column(name).arrow_field.type)
            arrays.append(columns.get(name, nulls))
        for name, of in self.stored.items():
            nulls = pa.nulls(rows, self.layout.column(of).arrow_field.type)
            arrays.append(nulls if old is None else old.column(name))
        kinds = pa.array(np.full(rows, kind, dtype=np.int8))
        return pa.RecordBatch.from_arrays(
            [*arrays, kinds], [*self.spec.columns, *self.stored, KIND]
        )

    def committed(self, records: Iterator[pa.RecordBatch]) -> int | None:
        """Write the records and publish them; returns the snapshot, None if nothing changed."""
        return committed(self.to, self.table, self.spec, records, self._told)

    def _told(self, spec: WriteSpec) -> WriteSpec:
        """The job, which tells what was changed in `t$snapshots`; a row that moved is one."""
        counts = Counter(dict.fromkeys(self._counted(), 0))
        for kind, rows in self._counts.items():
            counts[_DONE[kind]] += rows
        if "deleted" in counts:
            counts["deleted"] -= self._counts[MOVED]
        told = {"command": self.command, **{done: counts[done] for done in self._counted()}}
        assert spec.changes is not None
        return replace(spec, changes=replace(spec.changes, statement=json.dumps(told)))

    def _counted(self) -> Sequence[str]:
        own = {"UPDATE": ("updated",), "DELETE": ("deleted",)}
        return own.get(self.command, ("inserted", "updated", "deleted"))


@replanned
def planned(
    to: Destination,
    command: str,
    options: Mapping[str, str],
    assigned: Callable[[TableLayout], Sequence[str] | None] = lambda _layout: None,
) -> ChangeStatement:
    """A statement on the newest snapshot. `assigned` gives the columns that its updates set, None
    if there are none. Raises TableError or NotSupportedError if the table can't be read or written,
    or takes no deletes.
    """
    table = to.load()
    table.check_format()
    layout, stored = table.layout, stored_sequences(table.layout)
    names, sequences = assigned(layout), tuple(stored.values())
    read_job = None if table.snapshot is None else table.snapshot.commit_user
    changes = jobs.RowChangeJob(
        command, table.snapshot_id or 0, names, sequences, read_job=read_job
    )
    columns = layout.primary_key if command == "DELETE" else layout.arrow_schema.names
    spec = jobs.plan_job(table, columns, options=options, changes=changes)
    return ChangeStatement(command, to, table, spec, stored)


def _alike(one: pa.Array, other: pa.Array) -> Flags:
    """Flags of values that are the same key: NULL equals NULL, and NaN NaN."""
    equal = pc.fill_null(pc.equal(one, other), False)
    both = pc.and_(one.is_null(), other.is_null())
    if pa.types.is_floating(one.type):
        both = pc.or_(both, pc.fill_null(pc.and_(pc.is_nan(one), pc.is_nan(other)), False))
    found: Flags = pc.or_(equal, both).to_numpy(zero_copy_only=False)
    return found
