"""What a merge must give, in plain Python: one dict a record, sorted with `sorted`, folded one key
at a time.

Everything fast is tested against this. A record is (row kind, values by column).
"""

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from keyfold.kernels.folds.extremes import rank
from keyfold.kernels.ops import ADDITIONS
from keyfold.merge.engines import engine
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.testing.tables import Record
from keyfold.wire.layout import TableLayout


def key_of(layout: TableLayout, record: Record) -> tuple[Any, ...]:
    """The trimmed primary key of a record, as it sorts: NULL first."""
    values = (record[1][name] for name in layout.key)
    return tuple(() if value is None else (rank(value),) for value in values)


def merge_order(
    layout: TableLayout, options: TableOptions, records: Sequence[Record]
) -> list[Record]:
    """Records of one key in merge order: by sequence fields, else as they came. NULL comes first in
    both directions; as a version of Fluss it is the type's least value.
    """
    ordered = list(records)
    for name in reversed(options.sequence_fields):
        least = _least(layout, name) if name == options.version_column else None
        found: dict[int, Any] = {
            id(r): least if r[1][name] is None else rank(r[1][name]) for r in ordered
        }
        nulls = [record for record in ordered if found[id(record)] is None]
        rest = [record for record in ordered if found[id(record)] is not None]
        rest.sort(key=lambda record: found[id(record)], reverse=options.sequence_descending)
        ordered = nulls + rest  # sort keeps ties in order, also in reverse
    return ordered


def _least(layout: TableLayout, name: str) -> Any:
    kind = layout.column(name).arrow_field.type
    if pa.types.is_timestamp(kind):
        zone = datetime.timezone.utc if kind.tz else None
        return datetime.datetime.min.replace(tzinfo=zone)
    return -(2 ** (kind.bit_width - 1))


def fold(layout: TableLayout, records: Iterable[Record]) -> list[Record]:
    """One record a key, ascending by key; results of kind -U and -D stay."""
    options = parse(layout)
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(key_of(layout, record), []).append(record)
    merge = engine(options.merge_engine, layout.name).definition
    folded = []
    for _, group in sorted(groups.items()):
        ordered = merge_order(layout, options, group)
        result = ordered[0] if len(ordered) == 1 else merge(layout, options, ordered)
        folded += [] if result is None else [result]
    return folded


def accepted(layout: TableLayout, records: Iterable[Record]) -> list[Record]:
    """The records a write takes: without those `ignore-delete` and `ignore-update-before` drop."""
    options = parse(layout)
    dropped = {1, 3} if options.ignore_delete else {1} if options.ignore_update_before else set()
    return [record for record in records if record[0] not in dropped]


def visible(records: Iterable[Record]) -> list[Record]:
    """What a reader sees: no -U and no -D."""
    return [record for record in records if record[0] in ADDITIONS]
