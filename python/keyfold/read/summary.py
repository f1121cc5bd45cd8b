"""COUNT, MIN and MAX of a split: from the footer of a file that is a result, else from its rows.

A file that no other overlaps and that holds no deletes is a result. Its footer has the number of
rows, and the least and greatest value of a column whose statistics are exact. A manifest's count of
deletes can't be trusted for that. Spark puts the summaries of all splits together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.files import damage
from keyfold.files.column_mapping import sources
from keyfold.files.footers import footer_of
from keyfold.predicates.statistics import leaves_of, may_hold_deletes
from keyfold.read import reader
from keyfold.read.cuts import group_ranges
from keyfold.stores.opened import store_of
from keyfold.types.literals import arrow_array, manifest_value
from keyfold.types.logical import Atomic
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import Aggregate, DataFile, Run, ScanSpec, Section, Split

COUNT = "COUNT"
_CHOOSE = {"MIN": min, "MAX": max}
_EXACT = frozenset(
    {
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "DATE",
        "DECIMAL",
        "TIMESTAMP",
        "TIMESTAMP_LTZ",
    }
)


def schema_of(layout: TableLayout, aggregate: Aggregate) -> pa.Schema:
    """The columns of a summary, under names of their own."""
    fields = [layout.column(name).arrow_field for name in aggregate.by]
    for place, (op, name) in enumerate(aggregate.functions):
        kind = pa.int64() if name is None else layout.column(name).arrow_field.type
        fields.append(pa.field(f"{op} {place}", kind))
    return pa.schema(fields)


def summarized(scan: ScanSpec, split: Split) -> Iterator[pa.RecordBatch]:
    """One row for the split; no row if it is grouped and there is nothing to group."""
    assert scan.aggregate is not None
    names = sorted({name for _, name in scan.aggregate.functions if name is not None})
    found = _Summary(scan.aggregate)
    for section in split.sections:
        for rest in _from_footers(scan, split, section, names, found):
            rows = replace(scan, columns=tuple(names), aggregate=None)
            for batch in reader.read(rows, replace(split, sections=(rest,))):
                found.add_rows(batch)
    if found.rows or not scan.aggregate.by:
        yield found.batch(scan.layout, split)


@dataclass
class _Summary:
    """The findings so far; values are as manifests hold them."""

    aggregate: Aggregate
    rows: int = 0
    extremes: dict[tuple[str, str], Any] = field(default_factory=dict)

    def add(self, name: str, low: Any, high: Any) -> None:
        """Adds values of a column between `low` and `high`; both are among them."""
        for op, value in (("MIN", low), ("MAX", high)):
            if value is not None:
                known = self.extremes.get((op, name), value)
                self.extremes[op, name] = _CHOOSE[op](known, value)

    def add_rows(self, batch: pa.RecordBatch) -> None:
        """Adds rows, which hold the columns of all functions."""
        self.rows += batch.num_rows
        for name in batch.schema.names:
            found = pc.min_max(batch.column(name))
            self.add(name, manifest_value(found["min"]), manifest_value(found["max"]))

    def batch(self, layout: TableLayout, split: Split) -> pa.RecordBatch:
        """The summary's one row."""
        schema = schema_of(layout, self.aggregate)
        arrays = []
        if split.partition is not None:
            arrays = [split.partition.column(name) for name in self.aggregate.by]
        for op, name in self.aggregate.functions:
            if name is None:
                arrays.append(pa.array([self.rows], pa.int64()))
            else:
                value = self.extremes.get((op, name))
                arrays.append(arrow_array([value], layout.column(name).type))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _from_footers(
    scan: ScanSpec, split: Split, section: Section, names: list[str], found: _Summary
) -> Iterator[Section]:
    """Adds the facts that footers have; yields the sections that have to be read."""
    is_cut = split.after is not None or split.until is not None
    if len(section) > 1 or scan.key_filter or is_cut:
        yield section
        return
    rest: Run = tuple(file for file in section[0] if not _add_file(scan, split, file, names, found))
    if rest:
        yield (rest,)


def _add_file(
    scan: ScanSpec, split: Split, file: DataFile, names: list[str], found: _Summary
) -> bool:
    """Adds the footer of a file; False, and adds nothing, if the footer lacks a fact."""
    layout = scan.layout
    kinds = [layout.column(name).type for name in names]
    if any(not isinstance(kind, Atomic) or kind.name not in _EXACT for kind in kinds):
        return False
    if file.is_marked:
        return False
    path = f"{split.path}/{file.name}"
    footer = footer_of(store_of(layout.location, layout.store), path, file.size)
    with damage.decoding(path):
        groups = group_ranges(footer, sources(scan, file.schema_id, names)) if names else []
        every = range(footer.metadata.num_row_groups)
        has_deletes = may_hold_deletes(footer.metadata, leaves_of(footer.metadata), every)
    if has_deletes or any(name not in ranges for ranges in groups for name in names):
        return False
    found.rows += footer.metadata.num_rows
    for ranges in groups:
        for name in names:
            found.add(name, ranges[name].low, ranges[name].high)
    return True
