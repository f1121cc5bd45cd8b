"""Data files that hold rows which are too old (driver side)."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc

from keyfold.compact.kept_deletes import NONE, first_kept
from keyfold.compact.old_rows import rows_gone
from keyfold.files.column_mapping import bounds
from keyfold.lifetime.row_times import seconds_of
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.stores.opened import store_of
from keyfold.wire.specs import ScanSpec


def may_hold_old(table: Table, earliest: int | None) -> Callable[[LiveFile], bool]:
    """A function: whether a file holds rows that are older than `earliest`, by its statistics. A
    file without them does not, as in Paimon: a merge tells. Statistics are those of deletes too.
    Where these are kept, the times of a file that may hold some are read, as it would be written
    again and again for theirs.
    """
    options = table.options
    if earliest is None or options.row_time is None:
        return lambda _: False
    named = table.layout.column(options.row_time)
    keeps_deletes = first_kept(options) != NONE

    @functools.cache
    def holds(file: LiveFile) -> bool:
        stored = table.schema(file.schema_id)
        found = bounds(table.layout, stored, file.value_stats(stored))
        least = found.get(named.name, (None,))[0]
        if least is None:
            return False
        numbers = np.array([least], dtype=np.int64)
        if seconds_of(numbers, named.type, options.row_time_unit)[0] >= earliest:
            return False
        return not keeps_deletes or file.delete_rows == 0 or _holds_row(table, file, earliest)

    return holds


def _holds_row(table: Table, file: LiveFile, earliest: int) -> bool:
    """Whether a file holds rows that are older, which are no deletes, by what is in it."""
    layout, columns = table.layout, (table.layout.column(table.options.row_time or "").name,)
    scan = ScanSpec(layout, columns, table.stored_schemas((file,)))
    store = store_of(layout.location, layout.store)
    with table.reading_files():
        wanted = Wanted(columns, kinds=True)
        batches = read_file(scan, store, file.folder(layout), file, wanted)
        found = (rows_gone(layout, table.options, batch, earliest) for batch in batches)
        return any(pc.any(gone).as_py() for gone in found)
