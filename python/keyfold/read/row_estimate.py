"""How many rows the conditions leave that a scan decides by itself: Spark does not see those, so
that the estimate which Spark gets has to count them already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from keyfold.predicates.prune import pinned
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate, conjuncts


def most_rows(layout: TableLayout, decided: Sequence[Predicate]) -> float:
    """The number of keys that conditions name, each of which has at most one row. Infinite if a
    column of the key may have any value: a share of its range would be a guess, and Spark would
    send a table that is larger than guessed to every executor.
    """
    every = tuple(conjuncts(decided))
    named = [pinned(layout, name, every) for name in layout.primary_key]
    if not named or None in named:
        return math.inf
    return math.prod(len(values or ()) for values in named)
