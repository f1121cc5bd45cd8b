"""quantile_union, Doris' QUANTILE_UNION and StarRocks' PERCENTILE_UNION: the union of states that
answer quantiles, exact up to 2048 values, then a t-digest.

A state is u8 version 1, u16 compression, u8 form; form 0: u32 n and n f64 in any order; form 1: the
bytes of DataSketches' TDigestDouble. Little-endian.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from datasketches import tdigest_double

from keyfold.aggregates.states.checked import Checked
from keyfold.aggregates.states.opaque import union_of
from keyfold.kernels.states import quantiles
from keyfold.kernels.states.quantiles import MOST_EXACT

VERSION = 1
EXACT, DIGEST = 0, 1
LEAST_COMPRESSION, MOST_COMPRESSION = 2048, 10000

_HEAD = struct.Struct("<BHB")
STATES = Checked(
    "quantile state",
    partial(quantiles.plans_of, is_united=False),
    quantiles.PROBLEMS,
    united=quantiles.plans_of,
)


@dataclass(frozen=True)
class OpenedQuantiles:
    """An opened state: its single values, or else a digest."""

    compression: int
    values: npt.NDArray[np.float64]
    digest: tdigest_double | None = None


def opened(state: bytes) -> OpenedQuantiles:
    """A state from its bytes. Raises ValueError if the bytes are not a state."""
    _, compression, form = _HEAD.unpack_from(STATES.state(state))
    compression, body = allowed(compression), state[_HEAD.size :]
    if form == DIGEST:
        return OpenedQuantiles(compression, np.empty(0), _digest(body))
    return OpenedQuantiles(compression, np.frombuffer(body, "<f8", offset=4))


def _digest(body: bytes) -> tdigest_double:
    try:
        return tdigest_double.deserialize(body)
    except (IndexError, RuntimeError) as error:
        raise ValueError(f"Unable to deserialize quantile state: {error}") from error


def allowed(compression: int) -> int:
    """A compression as Doris takes it: 2048, the default, replaces one out of bounds."""
    is_allowed = LEAST_COMPRESSION <= compression <= MOST_COMPRESSION
    return compression if is_allowed else LEAST_COMPRESSION


def written(compression: int, values: npt.NDArray[np.float64]) -> bytes:
    """The state of some values, exact up to 2048 of them. NaN is left out: it has no rank."""
    values = values[~np.isnan(values)]
    if len(values) > MOST_EXACT:
        return _digested(compression, [OpenedQuantiles(compression, values)])
    body = struct.pack("<I", len(values)) + values.astype("<f8").tobytes()
    return _HEAD.pack(VERSION, compression, EXACT) + body


NOTHING = written(LEAST_COMPRESSION, np.empty(0))  # no state of values is as short


def union(states: list[bytes]) -> bytes:
    """The state of all values of the states, with the largest compression of any. It is exact if
    each state is and there are at most 2048 values.
    """
    heads = [_HEAD.unpack_from(STATES.state(state)) for state in states]
    compression = max(allowed(found) for _, found, _ in heads)
    parts = map(opened, states)  # one at a time: a digest takes much more memory than its bytes
    if all(form == EXACT for _, _, form in heads):
        return written(compression, np.concatenate([part.values for part in parts]))
    return _digested(compression, parts)


def _digested(compression: int, parts: Iterable[OpenedQuantiles]) -> bytes:
    result = tdigest_double(compression)
    for part in parts:
        if part.digest is not None:
            result.merge(part.digest)
        else:
            result.update(part.values.astype(np.float64))  # a copy: it must be writable
    return _HEAD.pack(VERSION, compression, DIGEST) + bytes(result.serialize())


QUANTILE_UNION = union_of(
    "quantile_union",
    "quantile state",
    union,
    aliases=("PERCENTILE_UNION",),
    check=STATES.column,
    is_stored_by_paimon=False,
    summary="union of quantile states: exact up to 2048 values, then a t-digest",
)
