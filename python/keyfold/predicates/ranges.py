"""Whether any row of a value range can satisfy a predicate: the question all pruning asks.

A predicate is true, false or NULL for a row; a row is kept if it is true. Two mirror-image
questions, "may it be true" and "may it be false", make NOT exact under NULLs. A predicate that is
not understood may be both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.types.literals import TEXT, Unknown, comparable
from keyfold.types.logical import Atomic, DataType
from keyfold.wire.predicates import Predicate


@dataclass(frozen=True)
class ValueRange:
    """The known facts about a column's values: bounds (None = unknown), whether NULLs occur, and
    whether other values do. `holds` says whether a value may be among them, in the form of
    manifests; None if nothing does.
    """

    type: DataType
    low: Any
    high: Any
    may_hold_null: bool = True
    may_hold_value: bool = True
    holds: Callable[[Any], bool] | None = None

    @staticmethod
    def of_value(data_type: DataType, value: Any) -> ValueRange:
        """The range of rows that all have one value, as manifests hold it."""
        shown = comparable(value, data_type)
        return ValueRange(data_type, shown, shown, value is None, value is not None)


Ranges = Mapping[str, ValueRange]


def may_be_true(predicate: Predicate, ranges: Ranges) -> bool:
    """False only if no row in the ranges satisfies the predicate."""
    return _may(predicate, ranges, True)


def decided(predicate: Predicate, ranges: Ranges) -> bool | None:
    """Whether the predicate is true for a row. Each range is the one value the row has, as the
    ranges of a partition are. None if these values do not decide it.

    A predicate that can't be false may be NULL: `c = 1 OR <not understood>` may be if c is NULL.
    """
    if not _may(predicate, ranges, True):
        return False
    return True if _must(predicate, ranges, True) else None


def _may(predicate: Predicate, ranges: Ranges, outcome: bool) -> bool:
    op, args = predicate.op, predicate.args
    if op == "NOT":
        return _may(args[0], ranges, not outcome)
    if op in ("AND", "OR"):
        found: Iterator[bool] = (_may(arg, ranges, outcome) for arg in args)
        return all(found) if (op == "AND") == outcome else any(found)
    if op in ("ALWAYS_TRUE", "ALWAYS_FALSE"):
        return outcome is (op == "ALWAYS_TRUE")
    decide = _LEAVES.get(op)
    if decide is None:
        return True
    try:
        return decide(ranges[predicate.column], predicate, outcome)
    except (Unknown, KeyError):
        return True


def _must(predicate: Predicate, ranges: Ranges, outcome: bool) -> bool:
    """Whether a row, with one value in each range, surely has that outcome; a NULL has neither."""
    op, args = predicate.op, predicate.args
    if op == "NOT":
        return _must(args[0], ranges, not outcome)
    if op in ("AND", "OR"):
        found: Iterator[bool] = (_must(arg, ranges, outcome) for arg in args)
        return all(found) if (op == "AND") == outcome else any(found)
    return _may(predicate, ranges, outcome) and not _may(predicate, ranges, not outcome)


Leaf = Callable[[ValueRange, Predicate, bool], bool]


def _comparison(
    true_for: Callable[[Any, Any, Any], bool], false_for: Callable[[Any, Any, Any], bool]
) -> Leaf:
    def decide(found: ValueRange, predicate: Predicate, outcome: bool) -> bool:
        value = predicate.value(found.type)
        if value is None or not found.may_hold_value:
            return False
        if found.low is None or found.high is None:
            return True
        return (true_for if outcome else false_for)(found.low, found.high, value)

    return decide


def _is_between(low: Any, high: Any, value: Any) -> bool:
    return bool(low <= value <= high)


def _is_other(low: Any, high: Any, value: Any) -> bool:
    return not low == value == high


_BETWEEN = _comparison(_is_between, _is_other)


def _equal(found: ValueRange, predicate: Predicate, outcome: bool) -> bool:
    if not _BETWEEN(found, predicate, outcome):
        return False
    return not outcome or found.holds is None or found.holds(predicate.value(found.type))


def _same_or_null(found: ValueRange, predicate: Predicate, outcome: bool) -> bool:
    if predicate.value(found.type) is None:
        return found.may_hold_null if outcome else found.may_hold_value
    if not outcome and found.may_hold_null:
        return True
    return _LEAVES["="](found, predicate, outcome)


def _in(found: ValueRange, predicate: Predicate, outcome: bool) -> bool:
    values = predicate.members(found.type)
    if values.is_empty:
        return not outcome
    if not found.may_hold_value:
        return False
    if outcome and found.holds is not None and not any(map(found.holds, values.ordered)):
        return False
    if found.low is None or found.high is None:
        return True
    if outcome:
        return values.reach_into(found.low, found.high)
    return not values.has_null and not (
        found.low == found.high and values.reach_into(found.low, found.low)
    )


def _starts_with(found: ValueRange, predicate: Predicate, outcome: bool) -> bool:
    if not isinstance(found.type, Atomic) or found.type.name not in TEXT:
        raise Unknown
    prefix = predicate.value(found.type)
    if prefix is None or not found.may_hold_value:
        return False
    if found.low is None or found.high is None:
        return True
    if outcome:
        return bool(found.low[: len(prefix)] <= prefix and found.high >= prefix)
    return not (found.low.startswith(prefix) and found.high.startswith(prefix))


_LEAVES: dict[str, Leaf] = {
    "=": _equal,
    "<>": _comparison(_is_other, _is_between),
    "<": _comparison(lambda low, _, v: low < v, lambda _, high, v: high >= v),
    "<=": _comparison(lambda low, _, v: low <= v, lambda _, high, v: high > v),
    ">": _comparison(lambda _, high, v: high > v, lambda low, _, v: low <= v),
    ">=": _comparison(lambda _, high, v: high >= v, lambda low, _, v: low < v),
    "<=>": _same_or_null,
    "IN": _in,
    "IS_NULL": lambda found, _, outcome: found.may_hold_null if outcome else found.may_hold_value,
    "IS_NOT_NULL": lambda found, _, outcome: (
        found.may_hold_value if outcome else found.may_hold_null
    ),
    "STARTS_WITH": _starts_with,
}
