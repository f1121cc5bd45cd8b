"""Tasks plan look-ups in a table of many files for their own keys (executor side).

The driver reads no manifest then, and sends what it would plan by. A task reads the manifests that
may hold the partitions and buckets of its keys, and plans as the driver does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.files.paimon_values import hashes
from keyfold.lookup.key_places import LookupPlan, LookupRequest
from keyfold.lookup.lookup_plan import is_by_partition, plan_lookup
from keyfold.lookup.of_tasks import PlannedLookups
from keyfold.lookup.rows_of_keys import key_columns, may_be_keys, partitions_of
from keyfold.merge.plan import check_mergeable
from keyfold.options.parsing import parse
from keyfold.predicates.prune import pruning
from keyfold.read.nested_pruning import narrowed
from keyfold.read.plan_ranges import opened_in_task
from keyfold.read.provenance import divided
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate

MANY_FILES = 10_000  # a plan of them has 10 MB, which each task takes


def lookups(
    table: Table,
    columns: Sequence[str],
    filters: Sequence[Predicate] = (),
    parts: Mapping[str, Any] | None = None,
) -> PlannedLookups:
    """The look-ups of tasks in the snapshot of a table: the driver plans those of few files, of
    keys that name no partition, and of conditions that do.
    """
    request = _request(table, columns, filters, parts or {})
    if request is not None:
        return PlannedLookups(request=request)
    plan = plan_lookup(table, columns, filters)
    return PlannedLookups(replace(plan, scan=narrowed(plan.scan, parts or {})))


def _request(
    table: Table, columns: Sequence[str], filters: Sequence[Predicate], parts: Mapping[str, Any]
) -> LookupRequest | None:
    """The request that tasks plan by, None if the driver is to plan."""
    layout, snapshot = table.layout, table.snapshot
    if snapshot is None or table.staged is not None or not is_by_partition(table, MANY_FILES):
        return None
    if pruning(layout, parse(layout), filters).by_partition:
        return None
    check_mergeable(layout, divided(layout, columns)[0])
    return LookupRequest(
        tuple(columns), layout, snapshot.as_read(), table.tag, tuple(filters), parts
    )


class PlansOfKeys:
    """The plans of a task, one each time that it is asked for some thousand keys. Those come in
    their order, so that most are of few partitions.
    """

    def __init__(self, request: LookupRequest) -> None:
        layout = request.layout
        self._request, self._bucket_key = request, parse(layout).bucket_key
        self._table = opened_in_task(layout, request.snapshot, request.tag)

    def of(self, keys: pa.RecordBatch) -> LookupPlan:
        """The plan for keys, or for prefixes of keys that tell their bucket."""
        asked, layout = self._request, self._request.layout
        keys = keys.filter(pa.array(may_be_keys(layout, keys)))
        partitions = partitions_of(layout, key_columns(layout, layout.partition_keys, keys))
        columns = [keys.column(name) for name in self._bucket_key]
        numbers = np.unique(hashes(layout, self._bucket_key, columns)) if columns else np.array([])
        found = plan_lookup(
            self._table, asked.columns, asked.filters, partitions, numbers.tolist() or None
        )
        return replace(found, scan=narrowed(found.scan, asked.parts))
