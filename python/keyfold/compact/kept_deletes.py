"""Deletes that stay in the oldest files: under a `sequence.field` they hide rows that come late.

Without them a compaction would decide what a later INSERT of a lower sequence does. They leave
after a time: a table whose rows come and go would grow for ever.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels.buffers import values
from keyfold.merge.kinds import SEQUENCE_NUMBER, VALUE_KIND, is_retract
from keyfold.options.declared import TableOptions

NONE = (1 << 63) - 1


def first_kept(options: TableOptions) -> int:
    """The number from which on records of kind -D and -U stay; NONE if they leave with the rows
    that they remove. The numbers of a job's records begin with the time at which it started.
    """
    if not options.orders_records or options.ignore_delete:
        return NONE
    return int((time.time() - options.deletes_seconds) * 1000) << 20


def kept(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
    """The merged rows, with system columns, less the deletes of numbers below `first`."""
    deletes = pa.array(is_retract(values(batch.column(VALUE_KIND), np.int8)))
    if not pc.any(deletes).as_py():
        return batch
    return batch.filter(pc.invert(pc.and_(deletes, pc.less(batch.column(SEQUENCE_NUMBER), first))))
