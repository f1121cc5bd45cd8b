"""The calls of a query by what they are made of, and what folds the groups of each."""

from collections.abc import Mapping
from typing import Any

from keyfold.queries.accumulate import Accumulated
from keyfold.queries.bitmap_algebra import Algebra, AlgebraCall
from keyfold.queries.bound import BoundCall
from keyfold.queries.quantiles import QuantileCall, Quantiles
from keyfold.queries.sets import SetCall, Sets

Call = BoundCall | SetCall | QuantileCall
Folded = Accumulated | Sets | Quantiles


def call_of(found: Mapping[str, Any]) -> Call:
    """From the JVM's JSON; `of` is that of functions over bitmaps, sketches and quantile states."""
    match found.get("of"):
        case None:
            return BoundCall.from_json(found)
        case "quantiles":
            return QuantileCall(found["name"])
        case "algebra":
            return AlgebraCall.named(found["name"])
        case of:
            return SetCall(found["name"], of)


def folding(call: Call, most_waiting: int) -> Folded:
    """The groups of a call. At most so many bytes of rows wait."""
    if isinstance(call, SetCall):
        return Sets(call)
    if isinstance(call, QuantileCall):
        return Quantiles(call)
    kind = Algebra if isinstance(call, AlgebraCall) else Accumulated
    return kind(call, most_waiting)
