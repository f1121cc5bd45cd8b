"""quantile_union, Doris' QUANTILE_UNION and StarRocks' PERCENTILE_UNION: the union of states that
answer quantiles, exact up to 2048 values, then a t-digest.

A state is u8 version 1, u16 compression, u8 form; form 0: u32 n and n f64 in any order; form 1: the
bytes of DataSketches' TDigestDouble. Little-endian.
"""

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from datasketches import tdigest_double

from keyfold.aggregates.states.opaque import union_of

VERSION = 1
EXACT, DIGEST = 0, 1
MOST_EXACT = 2048
LEAST_COMPRESSION, MOST_COMPRESSION = 2048, 10000

_HEAD = struct.Struct("<BHB")


@dataclass(frozen=True)
class Quantiles:
    """An opened state: its single values, or else a digest."""

    compression: int
    values: npt.NDArray[np.float64]
    digest: tdigest_double | None = None


def opened(state: bytes) -> Quantiles:
    """A state from its bytes. Raises ValueError if the bytes are not a state."""
    if len(state) < _HEAD.size:
        raise _bad(f"{len(state)} bytes are too few")
    version, compression, form = _HEAD.unpack_from(state)
    if version != VERSION or form not in (EXACT, DIGEST):
        raise _bad(f"expected version {VERSION} and form 0 or 1, found {version} and {form}")
    compression, body = allowed(compression), state[_HEAD.size :]
    if form == DIGEST:
        try:
            return Quantiles(compression, np.empty(0), tdigest_double.deserialize(body))
        except (ValueError, IndexError, RuntimeError, MemoryError) as error:
            raise _bad(str(error)) from error
    count = int.from_bytes(body[:4], "little")
    if len(body) != 4 + 8 * count or count > MOST_EXACT:
        raise _bad(f"{count} values, of at most {MOST_EXACT}, can't be in {len(body)} bytes")
    return Quantiles(compression, np.frombuffer(body, "<f8", count, 4))


def allowed(compression: int) -> int:
    """A compression as Doris takes it: 2048, the default, replaces one out of bounds."""
    is_allowed = LEAST_COMPRESSION <= compression <= MOST_COMPRESSION
    return compression if is_allowed else LEAST_COMPRESSION


def written(compression: int, values: npt.NDArray[np.float64]) -> bytes:
    """The state of some values, exact up to 2048 of them. NaN is left out: it has no rank."""
    values = values[~np.isnan(values)]
    if len(values) > MOST_EXACT:
        return _digested(compression, [Quantiles(compression, values)])
    body = struct.pack("<I", len(values)) + values.astype("<f8").tobytes()
    return _HEAD.pack(VERSION, compression, EXACT) + body


NOTHING = written(LEAST_COMPRESSION, np.empty(0))  # no state of values is as short


def union(states: list[bytes]) -> bytes:
    """The state of all values of the states, with the largest compression of any. It is exact if
    each state is and there are at most 2048 values.
    """
    parts = [opened(state) for state in states]
    compression = max(part.compression for part in parts)
    if all(part.digest is None for part in parts):
        return written(compression, np.concatenate([part.values for part in parts]))
    return _digested(compression, parts)


def _digested(compression: int, parts: list[Quantiles]) -> bytes:
    result = tdigest_double(compression)
    for part in parts:
        if part.digest is not None:
            result.merge(part.digest)
        else:
            result.update(part.values.astype(np.float64))  # a copy: it must be writable
    return _HEAD.pack(VERSION, compression, DIGEST) + bytes(result.serialize())


def _bad(words: str) -> ValueError:
    return ValueError(f"Unable to deserialize quantile state: {words}")


QUANTILE_UNION = union_of(
    "quantile_union",
    "quantile state",
    union,
    aliases=("PERCENTILE_UNION",),
    is_stored_by_paimon=False,
    summary="union of quantile states: exact up to 2048 values, then a t-digest",
)
