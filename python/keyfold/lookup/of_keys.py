"""Tasks of a join plan look-ups of a table of many files for their own keys (executor side).

The driver reads no manifest then, and sends what it would plan by. A task reads the manifests that
may hold the partitions and buckets of its keys, and plans as the driver does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.files.paimon_values import hashes
from keyfold.lookup.places import LookupPlan
from keyfold.lookup.plan import is_by_partition, plan_lookup
from keyfold.lookup.rows_of_keys import key_columns, may_be_keys, partitions_of
from keyfold.merge.plan import check_mergeable
from keyfold.options.parsing import parse
from keyfold.predicates.prune import pruning
from keyfold.read.nested_pruning import narrowed
from keyfold.read.provenance import divided
from keyfold.storage.metadata.manifests import CACHE
from keyfold.storage.metadata.partition_bounds import Partition
from keyfold.storage.table import Table
from keyfold.stores.opened import store_of
from keyfold.wire.codec import Wire
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate

MANY_FILES = 10_000  # a plan of them has 10 MB, which each task takes
KEPT_BYTES = 64 << 20  # of decoded manifests, within the cap of a worker


@dataclass(frozen=True)
class LookupRequest(Wire):
    """The request by which look-ups of `columns` are planned, in a snapshot that `tag` keeps if it
    has a name. `parts` are those of nested columns that are read.
    """

    columns: tuple[str, ...]
    layout: TableLayout
    snapshot: int
    tag: str
    filters: tuple[Predicate, ...]
    parts: Mapping[str, Any]

    @staticmethod
    def of(
        table: Table, columns: Sequence[str], filters: Sequence[Predicate], parts: Mapping[str, Any]
    ) -> LookupRequest | None:
        """The request that tasks plan by, None if the driver is to plan: few files, keys that name
        no partition, or conditions that do.
        """
        layout, snapshot = table.layout, table.snapshot_id
        if snapshot is None or not is_by_partition(table, MANY_FILES):
            return None
        if pruning(layout, parse(layout), filters).by_partition:
            return None
        check_mergeable(layout, divided(layout, columns)[0])
        return LookupRequest(tuple(columns), layout, snapshot, table.tag, tuple(filters), parts)

    def plan(self, partitions: Sequence[Partition], numbers: Sequence[int]) -> LookupPlan:
        """The plan for keys in these partitions, whose bucket keys have these hashes."""
        layout = self.layout
        files = store_of(layout.location, layout.store).within(layout.location)
        table = Table(files, "", "", layout.name, layout, self.snapshot, tag=self.tag)
        found = plan_lookup(table, self.columns, self.filters, partitions, numbers or None)
        return replace(found, scan=narrowed(found.scan, self.parts))


class PlansOfKeys:
    """The plans of a task, one each time that it is asked for some thousand keys. Those come in
    their order, so that most are of few partitions.
    """

    def __init__(self, request: LookupRequest) -> None:
        CACHE.bound(KEPT_BYTES)
        self._request = request
        self.layout = request.layout
        self._bucket_key = parse(request.layout).bucket_key

    def of(self, keys: pa.RecordBatch) -> LookupPlan:
        """The plan for keys, or for prefixes of keys that tell their bucket."""
        layout = self.layout
        keys = keys.filter(pa.array(may_be_keys(layout, keys)))
        partitions = partitions_of(layout, key_columns(layout, layout.partition_keys, keys))
        columns = [keys.column(name) for name in self._bucket_key]
        numbers = np.unique(hashes(layout, self._bucket_key, columns)) if columns else np.array([])
        return self._request.plan(partitions, numbers.tolist())
