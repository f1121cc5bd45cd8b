"""A step without some of its rows, a fold without some of its results."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from keyfold.merge.columns import keep
from keyfold.merge.declare import Folded, Step
from keyfold.merge.kinds import is_retract


def without(step: Step, flags: npt.NDArray[np.bool_]) -> Step:
    """The step without the flagged rows (by row number) of keys that have another record; keys of
    which nothing is left are left out.
    """
    sizes = np.diff(step.starts)
    stays = ~flags[step.order] | np.repeat(sizes == 1, sizes)
    return step if stays.all() else narrowed(step, stays)


def narrowed(step: Step, stays: npt.NDArray[np.bool_]) -> Step:
    """The step with the flagged of its ordered rows; keys of which nothing is left are left out."""
    left = np.add.reduceat(stays.astype(np.int64), step.starts[:-1])
    starts = np.concatenate(([0], np.cumsum(left[left > 0])))
    return replace(step, order=step.order[stays], starts=starts.astype(np.int64))


def shown(folded: Folded) -> Folded:
    """What of a fold a reader sees: no -U and no -D."""
    if folded.kinds is None or not is_retract(folded.kinds).any():
        return folded
    flags = ~is_retract(folded.kinds)
    arrays = [keep(array, flags) for array in folded.arrays]
    return Folded(arrays, folded.kinds[flags], folded.last[flags])
