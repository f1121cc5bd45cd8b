"""How many rows the conditions leave that a scan decides by itself: Spark does not see those, so
that the estimate which Spark gets has to count them already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from keyfold.predicates.prune import pinned
from keyfold.storage.metadata.table_statistics import ColumnStatistics, number_of
from keyfold.types.literals import Unknown
from keyfold.types.logical import Atomic, DataType
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate, conjuncts

_LEAST, _MOST = (">", ">="), ("<", "<=")


def most_rows(layout: TableLayout, decided: Sequence[Predicate]) -> float:
    """The number of keys that conditions name, each of which has at most one row. Infinite if a
    column of the key may have any value.
    """
    every = tuple(conjuncts(decided))
    named = [pinned(layout, name, every) for name in layout.primary_key]
    if not named or None in named:
        return math.inf
    return math.prod(len(values or ()) for values in named)


def share(
    layout: TableLayout, known: Mapping[str, ColumnStatistics], decided: Sequence[Predicate]
) -> float:
    """The share of a table's rows that pass conditions on its key, from 0 to 1, if the values of
    each column are spread evenly over its range and those of one tell nothing of another's.
    Partitions are left out by files, whose rows are counted.
    """
    every = tuple(conjuncts(decided))
    found = 1.0
    for name in layout.key:
        if name in known:
            values = pinned(layout, name, every)
            found *= (
                _within(layout.column(name).type, name, known[name], every)
                if values is None
                else min(1.0, len(values) / max(known[name].distinct or 0, 1))
            )
    return found


def _within(
    kind: DataType, name: str, column: ColumnStatistics, every: Sequence[Predicate]
) -> float:
    """The part of the range of a column's values that conditions leave."""
    least, most = number_of(column.low, kind), number_of(column.high, kind)
    try:
        low, high = float(least or ""), float(most or "")
    except ValueError:  # types without such numbers
        return 1.0
    if not 0 < high - low < math.inf:  # of DOUBLE also NaN, infinite, or wider than a number holds
        return 1.0
    first, last, unit = low, high, kind.facts.sparks_units if isinstance(kind, Atomic) else 1
    for predicate in every:
        value = _bound(predicate, name, kind)
        if value is not None and predicate.op in _LEAST:
            first = max(first, value * unit)
        elif value is not None and predicate.op in _MOST:
            last = min(last, value * unit)
    # Values that are beyond the range have come since they were counted.
    return (last - first) / (high - low) if first < last else 1.0


def _bound(predicate: Predicate, name: str, kind: DataType) -> float | None:
    """The number that a column is compared with."""
    if predicate.op not in (*_LEAST, *_MOST):
        return None
    try:
        return float(predicate.value(kind)) if predicate.column == name else None
    except (Unknown, TypeError, ValueError):
        return None
