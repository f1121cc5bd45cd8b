"""Flags that any row of a group has, and words with the bits of all its rows."""

import numpy as np
import numpy.typing as npt

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.jit import kernel


@kernel("void(uint8[::1], int64[::1], uint8[::1])")
def mark_groups(flags: Mask, starts: Rows, out: Mask) -> None:
    """out[g] is 1 if any of the flags from starts[g] up to starts[g + 1] is, else 0."""
    g, found = 0, np.uint8(0)
    for at in range(len(flags)):  # no branch depends on data
        is_next = at == starts[g + 1]
        g += is_next
        found = (np.uint8(0) if is_next else found) | flags[at]
        out[g] = found


@kernel("void(uint64[:, ::1], int32[::1], int64[::1], int64[::1], uint64[:, ::1])")
def unite_words(
    distinct: Words, which: npt.NDArray[np.int32], order: Rows, starts: Rows, out: Words
) -> None:
    """out[g] has the bits of all rows of group g; those of a row are distinct[which[row]]."""
    out[:] = np.uint64(0)
    for g in range(len(out)):
        for at in range(starts[g], starts[g + 1]):
            for word in range(out.shape[1]):
                out[g, word] |= distinct[which[order[at]], word]


def any_of(flags: npt.NDArray[np.bool_], starts: Rows) -> npt.NDArray[np.bool_]:
    """Whether any of the flags of each group is set."""
    out = np.empty(len(starts) - 1, dtype=np.uint8)
    mark_groups(np.ascontiguousarray(flags).view(np.uint8), starts, out)
    return out.view(np.bool_)
