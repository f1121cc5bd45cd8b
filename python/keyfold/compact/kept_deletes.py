"""Deletes that stay in the oldest files: a record that comes later folds with them.

They hide rows that come late under a `sequence.field`, and take back from rows that come after
them. Without them a compaction would decide about that. They leave after a time: a table whose rows
come and go would grow for ever.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels.buffers import values
from keyfold.merge.engines import engine
from keyfold.merge.kinds import SEQUENCE_NUMBER, VALUE_KIND, is_retract
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.wire.layout import TableLayout

NONE = (1 << 63) - 1


def first_kept(options: TableOptions) -> int:
    """The number from which on records of kind -D and -U stay; NONE if they leave with the rows
    that they remove, as where deletion vectors mark these. The numbers of a job's records begin
    with the time at which it started.
    """
    declared = engine(options.merge_engine, "")
    if options.ignore_delete or options.has_vectors or not declared.keeps_deletes(options):
        return NONE
    return int((time.time() - options.deletes_seconds) * 1000) << 20


def retractions_wait(layout: TableLayout) -> bool:
    """Whether records merge with a retraction only together with all that is older. Where rows are
    marked, what is older is looked up.
    """
    options = parse(layout)
    if options.has_vectors:
        return False
    declared = engine(options.merge_engine, layout.name)
    return not options.ignore_delete and declared.retractions_wait(layout, options)


def kept(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
    """The merged rows, with system columns, less the deletes of numbers below `first`."""
    deletes = pa.array(is_retract(values(batch.column(VALUE_KIND), np.int8)))
    if not pc.any(deletes).as_py():
        return batch
    return batch.filter(pc.invert(pc.and_(deletes, pc.less(batch.column(SEQUENCE_NUMBER), first))))
