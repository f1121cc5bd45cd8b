"""Rows that a compaction leaves out for their age, and their changes.

Nobody has deleted them, so a changelog shows the state before they went: what they became, and
nothing of their going. If the table's options ask for it, each is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.changelog.compare import KIND_FIELD
from keyfold.kernels.buffers import values
from keyfold.kernels.ops import DELETE
from keyfold.lifetime.row_times import are_old
from keyfold.merge import kinds
from keyfold.merge.kinds import VALUE_KIND, is_retract
from keyfold.options.declared import TableOptions
from keyfold.read.reader import read
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CompactionSpec, ScanSpec, Section, Split, Task


def rows_gone(
    layout: TableLayout, options: TableOptions, batch: pa.RecordBatch, earliest: int
) -> pa.Array:
    """Whether each merged row goes for its age. Deletes that are kept are no rows: they stay."""
    deletes = pa.array(is_retract(values(batch.column(VALUE_KIND), np.int8)))
    return pc.and_not(are_old(layout, options, batch, earliest), deletes)


def sections_before(task: Task, stays: Section) -> tuple[Section, ...]:
    """The sections that show what readers see with a task's merge, before rows went; the runs
    `stays` are beside it.
    """
    if not stays:
        return task.split.sections
    merged = [run for section in task.split.sections for run in section]
    return ((*stays, *sorted(merged, key=lambda run: max(file.max_sequence for file in run))),)


def deletes(
    spec: CompactionSpec, scan: ScanSpec, task: Task, options: TableOptions
) -> Iterator[pa.RecordBatch]:
    """The rows that a task left out, as deletes in key order."""
    assert spec.earliest is not None
    split: Split = replace(
        task.split,
        sections=tuple(
            section
            for section, is_oldest in zip(task.split.sections, task.oldest, strict=True)
            if is_oldest
        ),
    )
    for batch in read(scan, split):
        gone = batch.filter(are_old(spec.layout, options, batch, spec.earliest))
        if gone.num_rows:
            found = kinds.to_array(np.full(gone.num_rows, DELETE, np.int8), gone.num_rows)
            schema = pa.schema([*gone.schema, KIND_FIELD])
            yield pa.RecordBatch.from_arrays([*gone.columns, found], schema=schema)
