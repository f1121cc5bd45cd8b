"""The calls of a query by what they are made of, and what folds the groups of each."""

from collections.abc import Mapping
from typing import Any

from keyfold.group_by.accumulate import Accumulated
from keyfold.group_by.bitmap_algebra import Algebra, AlgebraCall
from keyfold.group_by.bound import BoundCall
from keyfold.group_by.ordered import Ordered, OrderedCall
from keyfold.group_by.quantiles import QuantileCall, QuantileGroups
from keyfold.group_by.sets import SetCall, Sets
from keyfold.group_by.shared import Shared, SharedCall
from keyfold.group_by.stated import Folds, FoldStates, Held, KeptStates, StateCall

Call = BoundCall | SetCall | QuantileCall | SharedCall | StateCall | OrderedCall


def call_of(found: Mapping[str, Any]) -> Call:
    """From the JVM's JSON; `of` is that of functions over bitmaps, sketches, quantile states and
    aggregate states, and of calls whose rows are ordered.
    """
    if found.get("of") == "ordered":
        return OrderedCall.of(_plain(found["fold"]), found)
    return _plain(found)


def _plain(found: Mapping[str, Any]) -> Held | SharedCall | StateCall:
    match found.get("of"):
        case None:
            return BoundCall.from_json(found)
        case "quantiles":
            return QuantileCall(found["name"])
        case "algebra":
            return AlgebraCall.named(found["name"])
        case "shared":
            return SharedCall(found["name"], found["values"])
        case "states":
            return StateCall.from_json(found)
        case of:
            return SetCall(found["name"], of)


def folding(call: Call, most_waiting: int) -> Folds:
    """The groups of a call. At most `most_waiting` bytes of rows wait."""
    if isinstance(call, OrderedCall):
        return Ordered(call, folding(call.fold, most_waiting), most_waiting)
    if isinstance(call, StateCall):
        made = KeptStates if call.fold is None else FoldStates
        return made(call, folding(call.held, most_waiting))
    if isinstance(call, SetCall):
        return Sets(call)
    if isinstance(call, QuantileCall):
        return QuantileGroups(call)
    if isinstance(call, SharedCall):
        return Shared(call)
    kind = Algebra if isinstance(call, AlgebraCall) else Accumulated
    return kind(call, most_waiting)
