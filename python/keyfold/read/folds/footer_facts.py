"""COUNT, MIN and MAX of a file by its footer alone, if its rows are results and are not cut.

The footer has the number of rows, and the least and greatest value of a column whose statistics
are exact. A manifest's count of deletes can't be trusted; a footer's statistics of row kinds can.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from keyfold.files import damage
from keyfold.files.column_mapping import sources
from keyfold.files.footers import Footer, footer_of, has_footer
from keyfold.files.leaves import leaves_of
from keyfold.files.vectors import deleted
from keyfold.predicates.ranges import ValueRange
from keyfold.predicates.statistics import may_hold_deletes
from keyfold.read.folds.scan_aggregates import COUNT, EXTREMES, MIN, ScanAggregate, nothing
from keyfold.read.key_cuts import group_ranges
from keyfold.stores.opened import store_of
from keyfold.types.literals import WHOLE, arrow_array
from keyfold.types.logical import name_of
from keyfold.types.type_table import Family, of_family
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Aggregate, DataFile, ScanSpec, Split

# Of other types, bounds may be cut, or leave values out.
_EXACT = (*WHOLE, *of_family(Family.BOOLEAN, Family.DECIMAL))


def answers(layout: TableLayout, aggregate: Aggregate) -> bool:
    """Whether footers may have the results of a query."""
    return set(aggregate.by) <= set(layout.partition_keys) and all(
        op == COUNT if name is None else op in EXTREMES and _is_exact(layout, name)
        for op, name in aggregate.functions
    )


def _is_exact(layout: TableLayout, name: str) -> bool:
    return name_of(layout.column(name).type) in _EXACT


def opened(scan: ScanSpec, split: Split, file: DataFile) -> Footer:
    """The footer of a file of a split."""
    store = store_of(scan.layout.location, scan.layout.store)
    return footer_of(store, f"{split.path}/{file.name}", file.size)


def has_deletes(scan: ScanSpec, split: Split, file: DataFile) -> bool:
    """Whether a file may hold records of kind -U or -D, as far as its footer tells."""
    if not has_footer(file.name):
        return True
    metadata = opened(scan, split, file).metadata
    with damage.decoding(f"{split.path}/{file.name}"):
        return may_hold_deletes(metadata, leaves_of(metadata), range(metadata.num_row_groups))


def states(
    scan: ScanSpec, split: Split, file: DataFile, chosen: Sequence[ScanAggregate]
) -> list[pa.Array] | None:
    """The state of all rows of a file, for each function; None if the footer lacks a fact: where
    rows are deleted it has the number of rows alone.
    """
    if file.is_marked or has_deletes(scan, split, file):
        return None
    names = sorted({f.name for f in chosen if f.name is not None})
    if names and file.vector is not None:
        return None
    footer = opened(scan, split, file)
    with damage.decoding(f"{split.path}/{file.name}"):
        found = sources(scan, file.schema_id, names)
        ranges = group_ranges(footer, found) if names else []
    if any(name not in known for known in ranges for name in names):
        return None
    rows = footer.metadata.num_rows - _deleted(scan, split, file)
    return [
        pa.array([rows], function.state)
        if function.name is None
        else _extreme(scan.layout, function, [known[function.name] for known in ranges])
        for function in chosen
    ]


def _deleted(scan: ScanSpec, split: Split, file: DataFile) -> int:
    """The number of rows of a file that are deleted."""
    if file.vector is None:
        return 0
    store = store_of(scan.layout.location, scan.layout.store)
    return len(deleted(store, scan.layout, f"{split.path}/{file.name}", file))


def _extreme(
    layout: TableLayout, function: ScanAggregate, ranges: Sequence[ValueRange]
) -> pa.Array:
    """The least or greatest value of all row groups; their bounds are values."""
    is_least = function.op == MIN
    ends = [known.low if is_least else known.high for known in ranges if known.low is not None]
    if not ends:
        return nothing(function)
    value = min(ends) if is_least else max(ends)
    return arrow_array([value], layout.column(function.name or "").type)
