"""hll_sketch, Doris' HLL_UNION: the union of DataSketches HLL sketches, as Spark's hll_* functions
and Paimon read and write them.
"""

from datasketches import HLL_4, hll_sketch, hll_union

from keyfold.aggregates.declare import Combine
from keyfold.aggregates.states import BYTES, NULLS, RETRACTION, in_turn, not_fixed, united

_SHORTEST = 8


def opened(state: bytes) -> hll_sketch:
    """A sketch from its bytes, compact or not; ValueError for bytes that are none."""
    if len(state) < _SHORTEST:
        raise ValueError(f"Unable to deserialize hll sketch: {len(state)} bytes are too few")
    try:
        return hll_sketch.deserialize(state)
    except (ValueError, IndexError, RuntimeError, MemoryError) as error:
        raise ValueError(f"Unable to deserialize hll sketch: {error}") from error


def union(states: list[bytes]) -> bytes:
    """The compact HLL_4 bytes of the union, as fine as the finest of the sketches (Paimon's and
    Spark's have 2^12 slots) unless a coarser one has outgrown its list.
    """
    sketches = [opened(state) for state in states]
    result = hll_union(max(sketch.lg_config_k for sketch in sketches))
    for sketch in sketches:
        result.update(sketch)
    return bytes(result.get_result(HLL_4).serialize_compact())


HLL_SKETCH = Combine(
    name="hll_sketch",
    accepts=BYTES,
    definition=in_turn(union),
    aliases=("HLL_UNION",),
    refuses=not_fixed("hll sketch"),
    reversal="append",
    summary="union of DataSketches HLL sketches",
    nulls=NULLS,
    retraction=RETRACTION,
    combine=united(union),
)
