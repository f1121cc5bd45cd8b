"""Incoming rows in the form that a job's buffer folds: conformed, normalized, marked.

Rows of one job may each name columns of their own, as dictionaries do. They are then prepared by
what they name, and keep the order in which they came, as rows of one key fold in it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.files.buckets import grouped
from keyfold.kernels.buffers import values
from keyfold.merge import kinds as row_kinds
from keyfold.merge.column_aggregate import normalizers
from keyfold.merge.kinds import VALUE_KIND
from keyfold.merge.marks.mark_columns import with_marks
from keyfold.merge.plan import MergePlan
from keyfold.wire.specs import ORDINAL, WriteSpec
from keyfold.write.incoming import conform
from keyfold.write.marking import Marking
from keyfold.write.targets import (
    OVERWRITE,
    leaves_others,
    merge_mode,
    named_columns,
    names_of,
    target_text,
)


def prepared(
    spec: WriteSpec, merge: MergePlan, marking: Marking | None, batch: pa.RecordBatch
) -> pa.RecordBatch:
    """Incoming rows in the form that the buffer folds, with their marks."""
    named = spec.columns if spec.named is None else spec.named
    rows = conform(spec, merge.options, batch)
    rows = merge.normalized(rows, named, overwrites=spec.merge_mode == OVERWRITE)
    return rows if marking is None else marking.apply(rows, spec.layout)


@dataclass(frozen=True)
class OwnColumns:
    """Rows of one job that each name columns of their own, in the text `_NAMED` that comes last."""

    spec: WriteSpec
    merge: MergePlan
    _places: dict[str | None, int] = field(default_factory=dict)
    _known: dict[Hashable, int] = field(default_factory=dict)
    _ways: list[tuple[WriteSpec, Marking | None]] = field(default_factory=list)

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Incoming rows as `prepared` gives them, in their order."""
        *columns, texts = batch.columns
        encoded = texts.dictionary_encode(null_encoding="encode")
        places = np.array([self._place(text) for text in encoded.dictionary.to_pylist()])
        codes = places[encoded.indices.to_numpy()]
        columns.append(pa.array(np.arange(batch.num_rows)))
        names = [*batch.schema.names[:-1], ORDINAL]
        rows = pa.RecordBatch.from_arrays(columns, names=names)
        parts = []
        for some in grouped(codes):
            spec, marking = self._ways[codes[0 if some is None else some[0]]]
            part = rows if some is None else rows.take(pa.array(some))
            parts.append(prepared(spec, self.merge, marking, part))
        return _in_order(parts)

    def _place(self, text: str | None) -> int:
        """The number of the way in which rows that name these columns are prepared."""
        if text not in self._places:
            columns = self.spec.columns
            named = columns if text is None else tuple(n for n in names_of(text) if n in columns)
            self._places[text] = self._way(named)
        return self._places[text]

    def _way(self, names: Sequence[str]) -> int:
        """The way of columns by their names. Raises TableError if a job may not name them."""
        spec, options = self.spec, self.merge.options
        told = {options.rowkind_field}
        named = None
        if leaves_others(spec.layout):
            named = named_columns(spec.layout, target_text(names), spec.mode)
            merge_mode(spec.layout, spec.merge_mode, named)
            overwrites = spec.merge_mode == OVERWRITE
            told |= normalizers(spec.layout, options, overwrites=overwrites).keys()
        marking = Marking.of(replace(spec, named=named), options)
        # NULL and no value are the same for the others, so that rows with them go together.
        taken = tuple(n for n in spec.columns if n in names or n not in told)
        way: Hashable = (taken, None if marking is None else marking.effect(spec))
        if way not in self._known:
            self._known[way] = len(self._ways)
            self._ways.append((replace(spec, named=taken, ordinal=True), marking))
        return self._known[way]


def _in_order(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of batches with an `_ORDINAL`, by it and without it. All get the same columns."""
    has_kinds = any(VALUE_KIND in part.schema.names for part in parts)
    alike = [_with_kinds(part) if has_kinds else part for part in map(with_marks, parts)]
    names = [name for name in alike[0].schema.names if name != ORDINAL]
    whole = pa.concat_batches([part.select([*names, ORDINAL]) for part in alike])
    order: npt.NDArray[np.int64] = np.argsort(values(whole.column(ORDINAL), np.int64))
    return whole.select(names).take(pa.array(order))


def _with_kinds(batch: pa.RecordBatch) -> pa.RecordBatch:
    if VALUE_KIND in batch.schema.names:
        return batch
    kinds = row_kinds.to_array(None, batch.num_rows)
    return batch.append_column(pa.field(VALUE_KIND, pa.int8(), False), kinds)
