"""Quantiles of states, as the SQL function `quantile_percent` gives them."""

import math

import numpy as np

from keyfold.aggregates.quantile_union import opened


def percent(state: bytes, q: float) -> float:
    """The quantile of rank q, 0 to 1; NaN if the state is empty. While the state is exact, it is
    between the two values nearest to place (n - 1) * q, in proportion, as Doris' quantile_percent.
    """
    quantiles = opened(state)
    if quantiles.digest is not None:
        digest = quantiles.digest
        return math.nan if digest.is_empty() else float(digest.get_quantile(q))
    if not len(quantiles.values):
        return math.nan
    ordered = np.sort(quantiles.values)
    place = (len(ordered) - 1) * q
    below = int(place)
    if below == len(ordered) - 1:
        return float(ordered[below])
    return float(ordered[below + 1] * (place - below) + ordered[below] * (below + 1 - place))
