"""Scans of parts of nested columns (driver side): `SELECT s.a` decodes no other field of `s`.

A merge whose choice depends on values needs whole columns. One that goes by the order of records,
and by which values are NULL, does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from keyfold.aggregates.declaration import Pick
from keyfold.files import parts
from keyfold.merge.column_aggregate import aggregate_of
from keyfold.merge.engines import engine
from keyfold.merge.sequence_groups import group_fields
from keyfold.options.declared import TableOptions
from keyfold.options.engines import engines
from keyfold.options.parsing import parse
from keyfold.types import logical
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import ScanSpec, schema_columns


def nested(layout: TableLayout) -> list[str]:
    """The nested columns of which a scan may read parts."""
    options = parse(layout)
    names = [column.name for column in layout.columns if not logical.is_atomic(column.type)]
    return [name for name in names if _goes_by_place(layout, options, name)]


def _goes_by_place(layout: TableLayout, options: TableOptions, name: str) -> bool:
    """Whether a merge looks at which values of a column are NULL, and at nothing else of them."""
    if not layout.key:
        return True  # nothing is merged
    declared = engine(options.merge_engine, layout.name)
    if declared is not engines().get(declared.name) or name in group_fields(options):
        return False  # another's engine may look at any column
    if declared.keeps_records:
        return True
    found = aggregate_of(layout, options, name)
    return isinstance(found, Pick) and found.goes_by_place


def narrowed(scan: ScanSpec, asked: Mapping[str, Any]) -> ScanSpec:
    """The scan with parts of some nested columns in place of the whole; `parts.named` has the form
    of what is asked for.
    """
    if not asked:
        return scan
    layout = scan.layout
    columns = tuple(
        replace(column, type=parts.named(column.type, asked[column.name]))
        if column.name in asked
        else column
        for column in layout.columns
    )
    stored = {layout.schema_id: schema_columns(layout)}
    return replace(
        scan, layout=replace(layout, columns=columns), schemas={**scan.schemas, **stored}
    )
