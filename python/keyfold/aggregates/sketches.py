"""hll_sketch, Doris' HLL_UNION, and theta_sketch: the unions of DataSketches sketches, as Spark's
hll_* and theta_* functions and Paimon read and write them.
"""

from datasketches import HLL_4, compact_theta_sketch, hll_sketch, hll_union, theta_union

from keyfold.aggregates.states.checked import Checked
from keyfold.aggregates.states.opaque import union_of
from keyfold.kernels.states import hll, theta

LG_NOMINAL = 12  # Paimon's union keeps 4096 entries
HLL = Checked("hll sketch", hll.plans_of, hll.PROBLEMS)
THETA = Checked("theta sketch", theta.problems_of, theta.PROBLEMS)


def opened_hll(state: bytes) -> hll_sketch:
    """A sketch from its bytes, compact or not. Raises ValueError if they are not a sketch."""
    try:
        return hll_sketch.deserialize(HLL.state(state))
    except (IndexError, RuntimeError) as error:
        raise ValueError(f"Unable to deserialize hll sketch: {error}") from error


def hll_union_of(states: list[bytes]) -> bytes:
    """The compact HLL_4 bytes of the union. It is as fine as the finest of the sketches (Paimon's
    and Spark's have 2^12 slots) unless a coarser one has outgrown its list.
    """
    sketches = [opened_hll(state) for state in states]
    result = hll_union(max(sketch.lg_config_k for sketch in sketches))
    for sketch in sketches:
        try:
            result.update(sketch)
        except (IndexError, RuntimeError) as error:
            raise ValueError(f"Unable to unite hll sketches: {error}") from error
    return bytes(result.get_result(HLL_4).serialize_compact())


HLL_SKETCH = union_of(
    "hll_sketch",
    "hll sketch",
    hll_union_of,
    aliases=("HLL_UNION",),
    check=HLL.column,
    summary="union of DataSketches HLL sketches",
)


def opened_theta(state: bytes) -> compact_theta_sketch:
    """A sketch from its compact bytes. Raises ValueError if they are not a sketch."""
    try:
        return compact_theta_sketch.deserialize(THETA.state(state))
    except (IndexError, RuntimeError) as error:
        raise ValueError(f"Unable to deserialize theta sketch: {error}") from error


def theta_union_of(states: list[bytes]) -> bytes:
    """The compact ordered bytes of the union; exact below 4096 entries."""
    result = theta_union(LG_NOMINAL)
    for state in states:
        result.update(opened_theta(state))
    return bytes(result.get_result(True).serialize())


THETA_SKETCH = union_of(
    "theta_sketch",
    "theta sketch",
    theta_union_of,
    check=THETA.column,
    summary="union of DataSketches theta sketches",
)
