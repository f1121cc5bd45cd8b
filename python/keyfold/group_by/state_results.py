"""The results of aggregate states that hold all values, or a sketch of quantiles: what Spark's
`percentile`, `mode` and so on give of the values. NULL of a group without values.

Each result takes the states' one field of all groups and the constant of each, which is None of
states that have none.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.aggregates.declaration import COMPARABLE, Inputs
from keyfold.aggregates.min_max import MIN
from keyfold.aggregates.quantile_union import opened
from keyfold.group_by.keys import keys_of
from keyfold.group_by.spark_order import comparable, one_zero
from keyfold.kernels.buffers import Rows, ones
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.kernels.unsafe_rows.layout import width

Constants = Sequence[str | None]
_HALF = "0.5"


def joined(lists: pa.Array, constants: Constants) -> pa.Array:
    """The texts of each group, joined by its separator."""
    separators = pa.array([text or "" for text in constants], pa.utf8())
    found = pc.binary_join(lists, separators)
    return pc.if_else(pa.array(np.diff(_bounds(lists)) > 0), found, None)


def percentile(lists: pa.Array, constants: Constants) -> pa.Array:
    """As Spark's percentile: linear between the two nearest numbers; NaN is above all."""
    bounds, numbers = _bounds(lists), lists.flatten().to_numpy(zero_copy_only=False)
    counts = np.diff(bounds)
    ordered = numbers[np.lexsort((numbers, np.repeat(np.arange(len(lists)), counts)))]
    groups = np.flatnonzero(counts)
    parts = np.array([float(constants[group] or _HALF) for group in groups.tolist()])
    places = (counts[groups] - 1) * parts
    below, above = np.floor(places), np.ceil(places)
    low = ordered[bounds[groups] + below.astype(np.int64)]
    high = ordered[bounds[groups] + above.astype(np.int64)]
    with np.errstate(invalid="ignore"):
        between = (above - places) * low + (places - below) * high
    out = np.zeros(len(lists))
    out[groups] = np.where(low == high, low, between)
    return pa.array(out, mask=counts == 0)


def mode(lists: pa.Array, constants: Constants) -> pa.Array:
    """The value that is there most often, of equals the least."""
    items, owners = one_zero(lists.flatten()), np.repeat(np.arange(len(lists)), _sizes(lists))
    keys = keys_of([items.type])
    numbers = keys.number(items if width(items.type) is not None else encode([items]))
    pairs, first, counts = np.unique(owners << 32 | numbers, return_index=True, return_counts=True)
    own = pairs >> 32
    most = np.zeros(len(lists), dtype=np.int64)
    np.maximum.at(most, own, counts)
    kept = counts == most[own]
    starts = np.searchsorted(own[kept], np.arange(len(lists) + 1))
    candidates = items.take(pa.array(first[kept]))
    rows = _least(candidates, starts)
    return candidates.take(pa.array(rows, mask=rows < 0))


def quantile(states: pa.Array, constants: Constants) -> pa.Array:
    """The quantile of each state: linear between its values while it has them, else its digest's.
    NaN of no value, as in Doris.
    """
    return pa.array(
        [
            _quantile(state, float(text or _HALF))
            for state, text in zip(states.to_pylist(), constants, strict=True)
        ],
        pa.float64(),
    )


RESULTS: dict[str, Callable[[pa.Array, Constants], pa.Array]] = {
    "join": joined,
    "percentile": percentile,
    "mode": mode,
    "quantile_percent": quantile,
}


def _sizes(lists: pa.Array) -> Rows:
    sizes: Rows = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    return sizes


def _bounds(lists: pa.Array) -> Rows:
    return np.concatenate(([0], np.cumsum(_sizes(lists))))


def _least(candidates: pa.Array, starts: Rows) -> Rows:
    """The row of the least of each group, -1 of a group without rows."""
    count = len(candidates)
    if COMPARABLE.test(candidates.type):
        every = ones(count).view(np.int8)
        return MIN.pick(Inputs(candidates, every, np.arange(count, dtype=np.int64), starts))
    ranks = [comparable(value) for value in candidates.to_pylist()]
    parts = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    found = [min(range(a, b), key=ranks.__getitem__) if a < b else -1 for a, b in parts]
    return np.array(found, dtype=np.int64)


def _quantile(state: bytes, rank: float) -> float:
    found = opened(state)
    if found.digest is not None:
        return math.nan if found.digest.is_empty() else float(found.digest.get_quantile(rank))
    ordered = np.sort(found.values)
    if not len(ordered):
        return math.nan
    place = (len(ordered) - 1) * rank
    below = int(place)
    if below == len(ordered) - 1:
        return float(ordered[below])
    low, high = ordered[below : below + 2].tolist()
    return float(low * (below + 1 - place) + high * (place - below))
