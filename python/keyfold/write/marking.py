"""The marks of a job's rows: the columns they name and replace, and the effect of a -D."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels.ops import DELETE, UPDATE_BEFORE
from keyfold.merge import kinds as row_kinds
from keyfold.merge.buffer import check_deletes
from keyfold.merge.engines import engine
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.marks.mark_columns import FIELDS
from keyfold.options.declared import TableOptions
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import EVERYTHING, WriteSpec
from keyfold.write.targets import OVERWRITE

_Flags = npt.NDArray[np.bool_]
_Texts = tuple[str | None, str | None]


@dataclass(frozen=True)
class Marking:
    """The marks of the rows of one job, the same for all batches.

    `named` and `overwritten` are two texts each: that of +I and +U rows, and that of -D rows.
    `has_marks` says whether there can be marks, `clears` whether the values of a -D become NULL, as
    Fluss' deletes leave them.
    """

    table: str
    options: TableOptions
    has_marks: bool
    clears: bool
    is_overwriting: bool
    named: _Texts = (None, None)
    overwritten: _Texts = (None, None)

    @staticmethod
    def of(spec: WriteSpec, options: TableOptions) -> Marking | None:
        """The marking of a job; None if its rows stay as they are."""
        layout, declared = spec.layout, engine(options.merge_engine, spec.layout.name)
        if spec.mode != "append":  # nothing is below: rows are whole
            own = Marking(layout.name, options, False, False, False)
            return None if options.delete_behavior is None else own
        is_overwriting = spec.merge_mode == OVERWRITE
        if spec.named is None and not is_overwriting and options.delete_behavior is None:
            return None
        may_delete = spec.kinds or options.rowkind_field is not None
        removes = is_overwriting or declared.deletes_remove(options)
        named = deleted = None
        if spec.named is not None:
            sequences = [group.fields for group in declared.sequences(options)]
            names = _with_sequences(spec.named, (options.sequence_fields, *sequences))
            named, deleted = ids(layout, names), ids(layout, names - {*options.id_columns})
        left = () if spec.named is None else set(layout.arrow_schema.names) - set(spec.named)
        needs_names = is_overwriting or not all(
            declared.passes_nulls(layout, options, name) for name in left
        )
        everything = EVERYTHING if named is None else named
        is_partial, clears_all = named is not None, declared.deletes_clear(options)
        deletes_named = is_partial and removes
        return Marking(
            table=layout.name,
            options=options,
            has_marks=(is_partial and (needs_names or may_delete))
            or is_overwriting
            or (may_delete and clears_all and not declared.keeps_records),
            clears=removes and (is_partial or is_overwriting or clears_all),
            is_overwriting=is_overwriting,
            named=(named if needs_names else None, "" if deletes_named else named),
            overwritten=(
                everything if is_overwriting else None,
                everything if is_overwriting else deleted if deletes_named else None,
            ),
        )

    def effect(self, spec: WriteSpec) -> Hashable:
        """The effect on rows, to be compared: equal effects are equal marks."""
        has_kinds = spec.kinds or self.options.rowkind_field is not None
        if not self.has_marks and not has_kinds:
            return None
        return self.has_marks, self.clears, self.named, self.overwritten

    def apply(self, batch: pa.RecordBatch, layout: TableLayout) -> pa.RecordBatch:
        """The batch with its marks, without rows that the table does not take. Raises TableError if
        there is a -D and deletes are disabled.
        """
        kinds = row_kinds.of(batch)
        if kinds is not None and is_retract(kinds).any():
            batch, kinds = self._accepted(batch, kinds)
            batch = self._cleared(batch, kinds, layout)
        if not self.has_marks:
            return batch
        deletes = None if kinds is None or not is_retract(kinds).any() else is_retract(kinds)
        texts = (self.named, self.overwritten)
        arrays = [_texts(batch.num_rows, deletes, *pair) for pair in texts]
        schema = pa.schema([*batch.schema, *FIELDS])
        return pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=schema)

    def _accepted(self, batch: pa.RecordBatch, kinds: Kinds) -> tuple[pa.RecordBatch, Kinds]:
        """The batch without ignored rows and, if deletes remove rows, without -U, as Fluss' writers
        drop it.
        """
        is_of_fluss = self.options.delete_behavior is not None or self.clears
        dropped: _Flags = (kinds == UPDATE_BEFORE) & is_of_fluss
        if not self.is_overwriting:
            check_deletes(self.table, self.options, kinds)
            is_ignored = self.options.ignore_delete or self.options.delete_behavior == "ignore"
            dropped |= is_retract(kinds) & is_ignored
        kept = ~dropped
        return batch.filter(pa.array(kept)), kinds[kept]

    def _cleared(self, batch: pa.RecordBatch, kinds: Kinds, layout: TableLayout) -> pa.RecordBatch:
        """The batch with only keys in its -D rows: other columns are NULL, if they may be."""
        deletes = kinds == DELETE
        if not self.clears or not deletes.any():
            return batch
        flags = pa.array(deletes)
        for place, field in enumerate(batch.schema):
            is_value = layout.has_column(field.name) and field.name not in layout.primary_key
            if is_value and field.nullable:
                nulls = pa.scalar(None, field.type)
                cleared = pc.if_else(flags, nulls, batch.column(place))
                batch = batch.set_column(place, field, cleared)
        return batch


def _with_sequences(named: Sequence[str], sequences: Iterable[Sequence[str]]) -> set[str]:
    """The named columns, and all columns of each sequence of which some are named."""
    names = set(named)
    for fields in sequences:
        if names.intersection(fields):
            names.update(fields)
    return names


def ids(layout: TableLayout, names: Collection[str]) -> str:
    """The text of named columns: ids of those outside the primary key."""
    own = [c for c in layout.columns if c.name in names and c.name not in layout.primary_key]
    return ",".join(str(column.id) for column in own)


def _texts(
    rows: int, deletes: _Flags | None, of_adds: str | None, of_deletes: str | None
) -> pa.Array:
    adds = pa.scalar(of_adds, pa.utf8())
    if deletes is None or of_adds == of_deletes:
        return pa.repeat(adds, rows)
    return pc.if_else(pa.array(deletes), pa.scalar(of_deletes, pa.utf8()), adds)
