"""The changes between two states of a bucket, each given as merged rows in key order.

A change is what two snapshots show (the rule of every changelog of keyfold): a key that only one of
them has was inserted or deleted; a key that both have, with other values, was updated. Rows that
are equal are no change, whatever was written. Equality is that of `kernels.equality`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.groups.by_key import merge_groups
from keyfold.kernels.groups.equality import differing
from keyfold.kernels.keys.closed import encode_closed
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from keyfold.merge import kinds as row_kinds
from keyfold.merge.column_results import Columns, sliced
from keyfold.merge.kinds import VALUE_KIND
from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.window import rounds
from keyfold.resources.merge_room import MergeRoom
from keyfold.wire.layout import TableLayout

OUTPUT_ROWS = 1 << 17
KIND_FIELD = pa.field(VALUE_KIND, pa.int8(), False)


def changes(
    layout: TableLayout,
    before: Iterable[pa.RecordBatch],
    after: Iterable[pa.RecordBatch],
    *,
    columns: Sequence[str] | None = None,
    ignore: Collection[str] = (),
    keeps_equal: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Batches of `columns` (default: all, in table order) and `_VALUE_KIND` (int8), ascending by
    key; a -U is followed by its +U.

    `before` and `after` are rows of one bucket of one partition with these columns at least, the
    key (`layout.key`) among them, ascending by it, each key once. Batches have any size, and their
    other columns are passed over. A key whose rows differ in columns of `ignore` alone has not
    changed (`changelog-producer.row-deduplicate-ignore-fields`). With `keeps_equal` each key that
    both have is an update (`changelog-producer.row-deduplicate` = false).
    """
    names = tuple(layout.arrow_schema.names) if columns is None else tuple(columns)
    schema = pa.schema([*(layout.column(name).arrow_field for name in names), KIND_FIELD])
    compared = (
        None if keeps_equal else [n for n in names if n not in layout.key and n not in ignore]
    )
    runs = [SortedRun(_plain(batches, names), (0, 0)) for batches in (before, after)]
    for pieces in rounds(runs, layout.key, layout.nullable_key, MergeRoom.now().round):
        lengths = [sum(batch.num_rows for batch in parts) for parts in pieces]
        found = Columns([batch for parts in pieces for batch in parts], names)
        picks, kinds = _changed(found, layout.key, compared, lengths)
        if len(picks):
            arrays = [*found.taken(names, picks), row_kinds.to_array(kinds, len(picks))]
            yield from sliced(arrays, schema, OUTPUT_ROWS)


def _plain(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    return (batch.select(names) for batch in batches if batch.num_rows)


def _changed(
    found: Columns, key: Sequence[str], compared: Sequence[str] | None, lengths: Sequence[int]
) -> tuple[Rows, row_kinds.Kinds]:
    """The rows that are part of a change, in key order, and their kinds. Rows before come first. A
    pair differs in the columns `compared`; None: every pair is a change.
    """
    old, new = lengths
    if not old or not new:
        kind = DELETE if old else INSERT
        return np.arange(old + new), np.full(old + new, kind, dtype=np.int8)
    order, starts = merge_groups(encode_closed([found[name] for name in key], lengths), lengths)
    firsts, is_pair = starts[:-1], np.diff(starts) == 2
    kinds = np.where(order < old, np.int8(DELETE), np.int8(INSERT))
    pairs = firsts[is_pair]
    kinds[pairs], kinds[pairs + 1] = UPDATE_BEFORE, UPDATE_AFTER
    is_kept = np.ones(len(order), dtype=np.bool_)
    if compared is not None:
        differs = differing([found[name] for name in compared], order[pairs], order[pairs + 1])
        is_kept[pairs] = is_kept[pairs + 1] = differs
    return order[is_kept], kinds[is_kept]
