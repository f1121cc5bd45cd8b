"""Which rows of a batch satisfy a condition over key columns: Spark's predicates, exactly.

Unlike pruning, which may answer "perhaps", this decides, in SQL's three-valued logic; what it can't
decide is refused before a row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import NotSupportedError
from keyfold.journey import Json
from keyfold.layout import TableLayout
from keyfold.read.describe import describe
from keyfold.read.literals import FLOATING, Unknown, arrow_array, value_of
from keyfold.types import Atomic

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def check_condition(layout: TableLayout, predicates: Sequence[Json]) -> None:
    """NotSupportedError for a condition over other columns than the key's, or that has no form."""
    satisfies(layout, predicates, pa.RecordBatch.from_pylist([], layout.arrow_schema))


def satisfies(
    layout: TableLayout, predicates: Sequence[Json], batch: pa.RecordBatch
) -> pa.BooleanArray:
    """Whether all predicates are true for each row, never NULL; `batch` has the key columns."""
    everything = pa.array([True] * batch.num_rows, pa.bool_())
    found = [_truth(layout, predicate, batch) for predicate in predicates]
    return pc.fill_null(reduce(pc.and_kleene, found, everything), False)


def _truth(layout: TableLayout, predicate: Json, batch: pa.RecordBatch) -> pa.BooleanArray:
    op, args = predicate["op"], predicate.get("args", ())
    if op == "NOT":
        return pc.invert(_truth(layout, args[0], batch))
    if op in ("AND", "OR"):
        connect = pc.and_kleene if op == "AND" else pc.or_kleene
        return reduce(connect, (_truth(layout, arg, batch) for arg in args))
    if op in ("ALWAYS_TRUE", "ALWAYS_FALSE"):
        return pa.array([op == "ALWAYS_TRUE"] * batch.num_rows, pa.bool_())
    try:
        return _leaf(layout, predicate, batch)
    except Unknown:
        raise NotSupportedError(
            f"table {layout.name}: rows can't be deleted by {describe(predicate)}; compare columns "
            f"of the primary key ({', '.join(layout.primary_key)}) with constants of their type"
        ) from None


def _leaf(layout: TableLayout, predicate: Json, batch: pa.RecordBatch) -> pa.BooleanArray:
    op, (first, *rest) = predicate["op"], predicate["args"]
    path = first.get("column", ())
    name = path[0] if len(path) == 1 else ""
    kind = layout.column(name).type if name in layout.primary_key else None
    # Spark's order of floating numbers, and its padding of CHAR, are not Arrow's.
    if not isinstance(kind, Atomic) or kind.name in (*FLOATING, "CHAR"):
        raise Unknown
    if any("literal" not in arg for arg in rest):
        raise Unknown
    column = batch.column(name)
    literals = [arrow_array([value_of(arg, kind)], kind)[0] for arg in rest]
    if op in _COMPARISONS:
        return _COMPARISONS[op](column, literals[0])
    if op == "<=>":
        same = pc.fill_null(pc.equal(column, literals[0]), False)
        return pc.is_null(column) if not literals[0].is_valid else same
    if op == "IN" and literals:
        return reduce(pc.or_kleene, (pc.equal(column, literal) for literal in literals))
    if op in ("IS_NULL", "IS_NOT_NULL"):
        return pc.is_null(column) if op == "IS_NULL" else pc.is_valid(column)
    raise Unknown
