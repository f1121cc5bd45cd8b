"""Data files that hold rows which are too old, by their statistics (driver side)."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from keyfold.lifetime.row_times import seconds_of
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table


def may_hold_old(table: Table, earliest: int | None) -> Callable[[LiveFile], bool]:
    """A function: whether a file holds rows that are older than `earliest`, by its statistics. A
    file without them does not, as in Paimon: a merge tells.
    """
    options = table.options
    if earliest is None or options.row_time is None:
        return lambda _: False
    named = table.layout.column(options.row_time)

    @functools.cache
    def holds(file: LiveFile) -> bool:
        stored = table.schema(file.schema_id)
        own = next((column.name for column in stored.columns if column.id == named.id), None)
        least = None if own is None else file.value_stats(stored).get(own, (None,))[0]
        if least is None:
            return False
        numbers = np.array([least], dtype=np.int64)
        return bool(seconds_of(numbers, named.type, options.row_time_unit)[0] < earliest)

    return holds
