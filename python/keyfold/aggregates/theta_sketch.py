"""theta_sketch: the union of DataSketches theta sketches, as Spark's theta_* functions and Paimon
read and write them.
"""

from datasketches import compact_theta_sketch, theta_union

from keyfold.aggregates.declare import Combine
from keyfold.aggregates.states import BYTES, NULLS, RETRACTION, in_turn, not_fixed, united

LG_NOMINAL = 12  # Paimon's union keeps 4096 entries


def opened(state: bytes) -> compact_theta_sketch:
    """A sketch from its compact bytes; ValueError for bytes that are none."""
    try:
        return compact_theta_sketch.deserialize(state)
    except (ValueError, IndexError, RuntimeError, MemoryError) as error:
        raise ValueError(f"Unable to deserialize theta sketch: {error}") from error


def union(states: list[bytes]) -> bytes:
    """The compact ordered bytes of the union; exact below 4096 entries."""
    result = theta_union(LG_NOMINAL)
    for state in states:
        result.update(opened(state))
    return bytes(result.get_result(True).serialize())


THETA_SKETCH = Combine(
    name="theta_sketch",
    accepts=BYTES,
    definition=in_turn(union),
    refuses=not_fixed("theta sketch"),
    reversal="append",
    summary="union of DataSketches theta sketches",
    nulls=NULLS,
    retraction=RETRACTION,
    combine=united(union),
)
