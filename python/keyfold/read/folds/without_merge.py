"""Whether a query's functions may be folded over records, unmerged and in any order.

The greatest value of a column that folds by max is the greatest of its records, and a sum of sums
the sum of all. So sections need no merge if each function is the column's own, or the least or
greatest value of a key column, and groups are made by key columns. That holds as long as no record
takes another back, or replaces it: files must hold no -U, no -D and no marks. A merge fails if the
sum of a key does not fit the column. So a section whose sums might not fit is merged all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types

from keyfold.files.column_mapping import sources
from keyfold.merge.plan import MergePlan, plan_merge
from keyfold.read.folds import footer_facts
from keyfold.read.folds.scan_aggregates import EXTREMES, SUM, ScanAggregate, functions
from keyfold.read.key_cuts import group_ranges
from keyfold.types.literals import unscaled
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Aggregate, DataFile, ScanSpec, Section, Split


def may_be_folded(layout: TableLayout, aggregate: Aggregate) -> bool:
    """Whether all functions give the same over records that take nothing back as over rows."""
    return not parted(layout, aggregate, functions(layout, aggregate))[1]


def parted(
    layout: TableLayout, aggregate: Aggregate, chosen: Sequence[ScanAggregate]
) -> tuple[list[ScanAggregate], list[ScanAggregate]]:
    """The functions that give the same over such records as over rows, and the others. Those of
    key columns are among the others if these are merged anyway.
    """
    merge = plan_merge(layout, ())
    if not merge.engine.keeps_keys or not set(aggregate.by) <= set(layout.primary_key):
        return [], list(chosen)
    alone = [function for function in chosen if _is_alone(merge, function)]
    others = [function for function in chosen if function not in alone]
    if others and all(function.name in layout.primary_key for function in alone):
        return [], list(chosen)
    return alone, others


def _is_alone(merge: MergePlan, function: ScanAggregate) -> bool:
    name = function.name
    if name is None or name in merge.layout.primary_key:
        return name is not None and function.op in EXTREMES
    if function.computed is not None:
        return False
    own = merge.engine.own_aggregate(merge.layout, merge.options, name)
    if own is None:
        return False
    if function.fold is not None:
        return own.unites and not own.parameters and own.name == function.fold.name
    is_rounded = function.op == SUM and types.is_floating(function.state)
    return own.over_records == function.op and not is_rounded


def is_sound(
    scan: ScanSpec, split: Split, section: Section, chosen: Sequence[ScanAggregate]
) -> bool:
    """Whether the records of a section fold as its rows do, by functions that are known to."""
    files = [file for run in section for file in run]
    if scan.value_filter or any(file.is_marked for file in files):
        return False
    if any(footer_facts.has_deletes(scan, split, file) for file in files):
        return False
    summed = {f.name for f in chosen if f.op == SUM and f.name is not None}
    return all(_fits(scan, split, section, name) for name in summed)


def _fits(scan: ScanSpec, split: Split, section: Section, name: str) -> bool:
    """Whether no key can have a sum that is too large: it has one record of each run at most."""
    most = 0
    for run in section:
        sizes = [_size(scan, split, file, name) for file in run]
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes):
            return False
        most += max(known)
    return most <= _limit(scan.layout.column(name).arrow_field.type)


def _limit(kind: pa.DataType) -> int:
    """The greatest value of a type of whole numbers or decimals, in its least unit."""
    return int(10**kind.precision - 1 if types.is_decimal(kind) else 2 ** (kind.bit_width - 1) - 1)


def _size(scan: ScanSpec, split: Split, file: DataFile, name: str) -> int | None:
    """The greatest magnitude of a file's values, in the least unit; None if it is not known."""
    found = sources(scan, file.schema_id, [name])
    if found[0].stored != found[0].target.type:
        return None
    ranges = group_ranges(footer_facts.opened(scan, split, file), found)
    if any(name not in known for known in ranges):
        return None
    ends = [end for known in ranges for end in (known[name].low, known[name].high)]
    return max((abs(unscaled(end)) for end in ends if end is not None), default=0)
