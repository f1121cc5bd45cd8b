"""Decides which rows of a batch satisfy a condition: Spark's predicates, exactly.

Pruning may answer "perhaps"; this module decides, in SQL's three-valued logic. Conditions that it
can't decide are known before a row is read, and a read leaves them to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.predicates import floats
from keyfold.types.literals import FLOATING, TEXT, Unknown, arrow_array
from keyfold.types.logical import Atomic
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate, conjuncts

_TEXTS: Mapping[str, Callable[..., Any]] = {
    "STARTS_WITH": pc.starts_with,
    "ENDS_WITH": pc.ends_with,
    "CONTAINS": pc.match_substring,
}
# These need no look at a literal: with columns that `is_exact`, Spark need not check them again.
OPERATORS = (*floats.COMPARISONS, "<=>", "IN", "IS_NULL", "IS_NOT_NULL", "AND", "OR", "NOT")


def undecided(
    layout: TableLayout, predicates: Sequence[Predicate], names: Collection[str] | None = None
) -> Predicate | None:
    """The first condition over other columns than these, or the key's, or without a form here; None
    if there is no such condition.
    """
    known = layout.primary_key if names is None else names
    return next((p for p in conjuncts(predicates) if not is_decided(layout, p, known)), None)


def is_decided(layout: TableLayout, predicate: Predicate, names: Collection[str]) -> bool:
    """Whether `satisfies` decides the predicate on batches that hold the columns `names`."""
    if not predicate.columns <= set(names):
        return False
    try:
        _truth(layout, predicate, pa.RecordBatch.from_pylist([], layout.arrow_schema))
    except (Unknown, pa.ArrowException, OverflowError):  # a literal that the type can't hold
        return False
    return True


def is_exact(layout: TableLayout, name: str) -> bool:
    """Whether Spark may leave comparisons of the column with constants of its type to scans."""
    kind = layout.column(name).type
    # Spark has several values for one NaN or zero, and pads CHAR.
    return isinstance(kind, Atomic) and kind.facts.is_exact


def satisfies(
    layout: TableLayout, predicates: Sequence[Predicate], batch: pa.RecordBatch
) -> pa.BooleanArray:
    """Whether all predicates are true, for each row; never NULL. The predicates are decided ones,
    and `batch` has their columns.
    """
    everything = pa.array([True] * batch.num_rows, pa.bool_()) if not predicates else None
    found = [_truth(layout, predicate, batch) for predicate in predicates]
    return everything if not found else pc.fill_null(reduce(pc.and_kleene, found), False)


def _truth(layout: TableLayout, predicate: Predicate, batch: pa.RecordBatch) -> pa.BooleanArray:
    op, args = predicate.op, predicate.args
    if op == "NOT":
        return pc.invert(_truth(layout, args[0], batch))
    if op in ("AND", "OR"):
        connect = pc.and_kleene if op == "AND" else pc.or_kleene
        return reduce(connect, (_truth(layout, arg, batch) for arg in args))
    if op in ("ALWAYS_TRUE", "ALWAYS_FALSE"):
        return pa.array([op == "ALWAYS_TRUE"] * batch.num_rows, pa.bool_())
    return _leaf(layout, predicate, batch)


def _leaf(layout: TableLayout, predicate: Predicate, batch: pa.RecordBatch) -> pa.BooleanArray:
    op, name = predicate.op, predicate.column
    kind, column = layout.column(name).type, batch.column(name)
    if op in ("IS_NULL", "IS_NOT_NULL"):
        return pc.is_null(column) if op == "IS_NULL" else pc.is_valid(column)
    if not isinstance(kind, Atomic):
        raise Unknown
    if kind.name in FLOATING:
        return floats.truth(predicate, column, kind)
    if kind.name == "CHAR":
        column = pc.utf8_rpad(column, kind.length)
    if op == "LIKE" and kind.name in (*TEXT, "CHAR"):
        return pc.match_like(column, predicate.args[1].value)
    if op == "IN":
        values = predicate.members(kind)
        return floats.with_unknown(pc.is_in(column, value_set=values.array), column, values)
    value = predicate.value(kind)
    if op in _TEXTS and kind.name in TEXT and value is not None:
        return _TEXTS[op](column, value)
    if op in floats.COMPARISONS:
        return floats.COMPARISONS[op](column, arrow_array([value], kind)[0])
    if op == "<=>":
        if value is None:
            return pc.is_null(column)
        return pc.fill_null(pc.equal(column, arrow_array([value], kind)[0]), False)
    raise Unknown
