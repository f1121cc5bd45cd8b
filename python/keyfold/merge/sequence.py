"""Merge order inside a key: `sequence.field` columns, then sequence numbers, then retractions
before additions.

NULL sequence values come first in both directions. A NULL version (Fluss' versioned engine) is the
type's least value, whose word is 0 like that of NULL. Every sort is stable: if all of these tie,
the order of runs, or of arrival, stays.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows, Words
from keyfold.kernels.groups.by_key import sort_bytes_in_groups, sort_in_groups
from keyfold.kernels.keys.comparable import Keys, encode_nullable
from keyfold.kernels.keys.order import radix, sort_order
from keyfold.kernels.keys.words import ordered
from keyfold.merge.kinds import Kinds, is_retract
from keyfold.merge.plan import MergePlan

_ALL_BITS = np.uint64(2**64 - 1)


def _fields(
    plan: MergePlan, columns: Mapping[str, pa.Array]
) -> Iterator[tuple[Keys, Words | None]]:
    """The keys of the sequence fields and, if there are nulls, their validity words, the last field
    first.
    """
    for name in reversed(plan.options.sequence_fields):
        keys, valid = encode_nullable(columns[name])
        has_nulls = columns[name].null_count and name != plan.options.version_column
        yield keys, valid.astype(np.uint64) if has_nulls else None


def sort_by_arrival(
    numbers: pa.Array | None, kinds: Kinds | None, order: Rows, starts: Rows
) -> None:
    """Put the rows of each group into order of arrival, in place, if sequence numbers decide
    about it.
    """
    if numbers is None or len(starts) == len(order) + 1:
        return
    if kinds is not None:
        sort_in_groups(order, starts, (~is_retract(kinds)).astype(np.uint64))
    sort_in_groups(order, starts, ordered(numbers))


def sort_by_fields(
    plan: MergePlan, columns: Mapping[str, pa.Array], order: Rows, starts: Rows
) -> None:
    """Sort the rows of each group, in order of arrival, by the sequence fields, in place."""
    if len(starts) == len(order) + 1:
        return
    is_descending = plan.options.sequence_descending
    for keys, valid in _fields(plan, columns):
        if keys.is_wide:
            sort_bytes_in_groups(order, starts, keys.words, keys.offsets, keys.data, is_descending)
        else:
            sort_in_groups(order, starts, keys.words ^ _ALL_BITS if is_descending else keys.words)
        if valid is not None:
            sort_in_groups(order, starts, valid)


def sort_rows(
    plan: MergePlan,
    columns: Mapping[str, pa.Array],
    ordinals: pa.Array | None,
    rows: Rows,
    *,
    by_fields: bool = True,
) -> Rows:
    """The `rows`, given in order of arrival, sorted by ordinal, then by the sequence fields."""
    if ordinals is not None:
        rows = radix(ordered(ordinals)[rows], rows)[1]
    if not by_fields:
        return rows
    for keys, valid in _fields(plan, columns):
        rows = sort_order(keys, rows, is_descending=plan.options.sequence_descending)[1]
        if valid is not None:
            rows = radix(valid[rows], rows)[1]
    return rows
