"""Rows of statements that change rows (DELETE, UPDATE, MERGE), in the form that a task's buffer
folds.

Each row has a kind: -D removes the row of a key, +U puts a row in its place, +I is what an INSERT
writes. An engine that keeps the last record says this in Paimon's own files. Under all others a -D
and a +U overwrite: they have marks, so that nothing of the records before them is folded.

Under a `sequence.field` the last record in its order counts. So a -D carries the stored sequence,
as does a +U that leaves it alone, and both win the tie. A row whose place in that order is earlier,
or not known, overwrites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import NotSupportedError, TableError
from keyfold.kernels.buffers import values
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER
from keyfold.merge.averages import check_parts_left, with_parts
from keyfold.merge.column_results import combine
from keyfold.merge.engines import engine
from keyfold.merge.kinds import Kinds, from_text
from keyfold.merge.marks.mark_columns import FIELDS
from keyfold.merge.plan import MergePlan
from keyfold.merge.sequence import sort_by_fields
from keyfold.options.clusters import is_postponing
from keyfold.options.declared import TableOptions
from keyfold.options.unparsed import TO_BUCKETS
from keyfold.types.required import filler
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import EVERYTHING, KIND, ORDINAL, RowChanges, WriteSpec
from keyfold.write.incoming import check_not_null, column, with_times
from keyfold.write.marking import ids

_Flags = npt.NDArray[np.bool_]
_PLAIN, _UPDATED, _WHOLE = range(3)  # the marks of a row
MOVED = 4  # the kind, on the wire, of an updated row that had another key


def has_marks(options: TableOptions) -> bool:
    """Whether rows of such statements may have marks."""
    return not options.engine.is_default or options.orders_records


def check_seen(layout: TableLayout, options: TableOptions, statement: str) -> None:
    """Raises NotSupportedError if what a statement writes would not be seen before a compaction:
    another statement would not find it.
    """
    if is_postponing(options):
        raise NotSupportedError(
            f"{statement} of table {layout.name}: its option {TO_BUCKETS.name} is 'false', so that "
            "rows are seen only after a compaction; expected 'true': ALTER TABLE sets it"
        )


def check_deletes(layout: TableLayout, options: TableOptions, statement: str) -> None:
    """Raises TableError if the table takes no deletes."""
    if options.delete_behavior == "disable":
        raise TableError(f"{statement} {layout.name}: its table.delete.behavior is 'disable'")
    if options.version_column is not None:
        raise TableError(
            f"{statement} {layout.name}: its engine, versioned, keeps the greatest version of each "
            "key and has no deletes, as in Fluss: a row that was removed would come back with the "
            "next older version; UPDATE a column that says so"
        )
    if options.ignore_delete or options.delete_behavior == "ignore":
        raise TableError(
            f"{statement} {layout.name}: the table ignores deletes (ignore-delete), so no row can "
            "be removed"
        )


def assigned_columns(
    layout: TableLayout, options: TableOptions, names: Sequence[str] | None
) -> tuple[str, ...] | None:
    """The columns that updated rows name if the statement assigns `names`; None for all.

    Only engines that fold column by column keep the other columns of a row apart from it. All are
    named if the key is assigned, which moves the row, if another column may not be NULL, and under
    sequences, which order values of several columns together.
    """
    traits = options.engine
    if names is None or not traits.folds_columns or not traits.takes_partial_writes:
        return None
    if options.sequence_fields or engine(options.merge_engine, layout.name).sequences(options):
        return None
    check_parts_left(layout, options, names, "updating")
    named = {*layout.primary_key, *names, *options.id_columns, *options.on_write}
    named = with_parts(layout, options, named)
    left = [one for one in layout.columns if one.name not in named]
    is_whole = any(not one.type.nullable for one in left) or not left
    if is_whole or {*names} & {*layout.primary_key, *layout.partition_keys}:
        return None
    return tuple(one.name for one in layout.columns if one.name in named)


@dataclass(frozen=True)
class Changing:
    """The rows of one job; its `merge` is the plan by which they fold."""

    spec: WriteSpec
    changes: RowChanges
    merge: MergePlan

    @property
    def _options(self) -> TableOptions:
        return self.merge.options

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """An incoming batch as all table columns, `_VALUE_KIND`, `_ORDINAL` and, if there may be
        any, marks.

        Incoming columns are those of the spec, then the stored values of `changes.stored`, then the
        kind. The ordinal is the sequence number: a -D comes before the other rows of its key.
        Raises TableError if there is a -D and the table takes none.
        """
        own = len(self.spec.columns)
        kinds = values(batch.column(batch.num_columns - 1), np.int8)
        deletes = kinds == DELETE
        if deletes.any():
            check_deletes(self.spec.layout, self._options, "deleting rows of table")
        numbers = self.spec.sequence + (~deletes).astype(np.int64)
        stored = dict(zip(self.changes.stored, batch.columns[own:-1], strict=True))
        columns = self._columns(batch, kinds, stored)
        codes = self._codes(columns, stored, kinds)
        kinds = self._stored_kinds(columns, kinds)
        schema = self.spec.layout.arrow_schema
        arrays = [columns[name] for name in schema.names]
        fields = [*schema, pa.field(KIND, pa.int8(), False), pa.field(ORDINAL, pa.int64(), False)]
        arrays += [pa.array(kinds), pa.array(numbers)]
        if self.merge.marks:
            arrays += self._marks(codes)
            fields += FIELDS
        rows = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        return self._normalized(rows, codes)

    def _columns(
        self, batch: pa.RecordBatch, kinds: Kinds, stored: Mapping[str, pa.Array]
    ) -> dict[str, pa.Array]:
        """The table's columns. A -D has its key and the stored sequence, NULL elsewhere or, where
        NULL is not allowed, any value. A +U has NULL where it names nothing.
        """
        place = {name: at for at, name in enumerate(self.spec.columns)}
        deletes, named = pa.array(kinds == DELETE), self.spec.named
        updates = pa.array(kinds == UPDATE_AFTER)
        found = {}
        for field in self.spec.layout.arrow_schema:
            array = column(self.spec.layout, batch, place, field)
            if field.name in self._options.id_columns:  # another key has another id
                array = pc.if_else(pa.array(kinds == MOVED), pa.scalar(None, field.type), array)
            if named is not None and field.name not in named:
                array = pc.if_else(updates, pa.scalar(None, field.type), array)
            if field.name in stored:
                array = pc.if_else(deletes, stored[field.name].cast(field.type), array)
            elif not field.nullable and field.name not in self.spec.layout.primary_key:
                array = pc.if_else(deletes, filler(field.type, len(array)), array)
            check_not_null(self.spec.layout, field, array)
            found[field.name] = array
        deleted = kinds == DELETE
        set_here = with_times(self.spec, self._options, list(found.values()), deleted)
        return dict(zip(found, set_here, strict=True))

    def _stored_kinds(self, columns: Mapping[str, pa.Array], kinds: Kinds) -> Kinds:
        """The kinds; an inserted row has that of its `rowkind.field`, as in an INSERT."""
        name, inserted = self._options.rowkind_field, kinds == INSERT
        made = np.where(kinds == MOVED, np.int8(UPDATE_AFTER), kinds)
        if name is None or not inserted.any():
            return made
        texts = columns[name].filter(pa.array(inserted))
        where = f"rowkind.field column {name}"
        others = self._options.rowkind_map
        made[inserted] = from_text(texts, self.spec.layout.name, where, others).to_numpy()
        return made

    def _codes(
        self, columns: Mapping[str, pa.Array], stored: Mapping[str, pa.Array], kinds: Kinds
    ) -> npt.NDArray[np.int8]:
        """The marks of each row."""
        codes = np.full(len(kinds), _PLAIN, dtype=np.int8)
        if not self._options.engine.is_default:
            codes[kinds == UPDATE_AFTER] = _WHOLE if self.spec.named is None else _UPDATED
            codes[(kinds == DELETE) | (kinds == MOVED)] = _WHOLE
        elif self._options.sequence_fields and not stored:
            codes[:] = _WHOLE
        elif stored:
            codes[(kinds == INSERT) | (kinds == MOVED)] = _WHOLE
            codes[(kinds == UPDATE_AFTER) & self._is_earlier(columns, stored)] = _WHOLE
        return codes

    def _is_earlier(
        self, columns: Mapping[str, pa.Array], stored: Mapping[str, pa.Array]
    ) -> _Flags:
        """Whether each row comes before the stored one by its sequence."""
        fields = self._options.sequence_fields
        rows = len(columns[fields[0]])
        both = {
            name: combine([stored[name].cast(columns[name].type), columns[name]]) for name in fields
        }
        order = np.arange(2 * rows, dtype=np.int64).reshape(2, rows).T.ravel().copy()
        sort_by_fields(self.merge, both, order, np.arange(0, 2 * rows + 1, 2, dtype=np.int64))
        flags: _Flags = order[1::2] < rows
        return flags

    def _marks(self, codes: npt.NDArray[np.int8]) -> list[pa.Array]:
        named = None if self.spec.named is None else ids(self.spec.layout, self.spec.named)
        texts = ((None, named, None), (None, named or EVERYTHING, EVERYTHING))
        return [pa.array(one, pa.utf8()).take(pa.array(codes)) for one in texts]

    def _normalized(self, rows: pa.RecordBatch, codes: npt.NDArray[np.int8]) -> pa.RecordBatch:
        """The rows in the form that functions fold: values that overwrite stay what they are."""
        parts = []
        for overwrites in (False, True):
            flags = (codes != _PLAIN) == overwrites
            if flags.any():
                part = rows if flags.all() else rows.filter(pa.array(flags))
                parts.append(self.merge.normalized(part, self.spec.columns, overwrites=overwrites))
        return parts[0] if len(parts) == 1 else pa.concat_batches(parts)
