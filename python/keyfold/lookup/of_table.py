"""The look-ups of a table's snapshot, planned for all of its files at once.

Where these are many, plans are made for the partitions that the keys of a call name: then a look-up
costs what these hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from keyfold.lazy import cached_property
from keyfold.lookup.lookup_plan import is_by_partition, plan_lookup
from keyfold.lookup.row_group_cache import RowGroupCache
from keyfold.lookup.rows_of_keys import Spread, key_columns, one_by_one, partitions_of
from keyfold.lookup.warm import Warm
from keyfold.resources.cache import Cache
from keyfold.storage.metadata.partition_bounds import Partition
from keyfold.storage.table import Table

MANY_FILES = 2_000  # a plan of them takes about 20 ms
_KEPT_FILES = 50_000  # in plans of partitions


class TableLookups:
    """Look-ups of some columns in the snapshot of a table, in any thread. `kept` has its decoded
    row groups.
    """

    def __init__(self, table: Table, columns: Sequence[str], kept: RowGroupCache) -> None:
        self.layout = table.layout
        self._table, self._columns, self._row_groups = table, tuple(columns), kept
        self._of_some: Cache[Warm] = Cache(_KEPT_FILES, lambda warm: 1 + warm.files)

    def look_up(
        self, keys: pa.RecordBatch, spread: Spread = one_by_one
    ) -> tuple[pa.BooleanArray, pa.RecordBatch]:
        """The answer of `rows_of_keys.look_up`. `spread` runs jobs, of one bucket each."""
        return self._of(keys).look_up(keys, spread)

    def look_up_one(self, key: pa.RecordBatch) -> dict[str, Any] | None:
        """The row of a key, of one row; None if there is none."""
        return self._of(key).look_up_one(key)

    def prefix(self, key: pa.RecordBatch) -> pa.Table:
        """All rows whose first columns of the key have the values of `key`. It is one row, of these
        columns and of some that the table is partitioned by.
        """
        names = set(self.layout.partition_keys)
        return (self._of(key) if names <= {*key.schema.names} else self._whole).prefix(key)

    def _of(self, keys: pa.RecordBatch) -> Warm:
        """Look-ups that find these keys."""
        if not self._is_by_partition:
            return self._whole
        layout = self.layout
        asked = partitions_of(layout, key_columns(layout, layout.partition_keys, keys))
        name = tuple(sorted(map(repr, asked)))
        found = self._of_some.get(name)
        if found is None:
            found = self._planned(asked)
            self._of_some.put(name, found)
        return found

    @cached_property
    def _is_by_partition(self) -> bool:
        """Whether plans are of partitions."""
        return is_by_partition(self._table, MANY_FILES)

    @cached_property
    def _whole(self) -> Warm:
        return self._planned(None)

    def _planned(self, partitions: Sequence[Partition] | None) -> Warm:
        plan = plan_lookup(self._table, self._columns, partitions=partitions)
        return Warm(plan, self._row_groups)
