"""Groups that did not fit into memory, as states on disk: in parts, so that all states of a key are
in one of them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import text
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.numbered import codes_of
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.kernels.unsafe_rows.layout import WORD
from keyfold.merge.spill import Spilled, SpillFile

PARTS = 16
_MIXING = np.uint64(0xD6E8FEB86659FD93)


class SpilledGroups:
    """The parts, each the runs of one file. `depth` is how often their groups were split before:
    each time by other bits.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.bytes = 0
        self._file = SpillFile(is_compressed=False)
        self._runs: list[list[Spilled]] = [[] for _ in range(PARTS)]

    def add(self, keys: Sequence[pa.Array], states: Sequence[pa.Array]) -> None:
        """Write states of some groups."""
        names = [f"c{place}" for place in range(len(keys) + len(states))]
        batch = pa.RecordBatch.from_arrays([*keys, *states], names)
        parts = self._parts(keys)
        for part in range(PARTS):
            rows = np.flatnonzero(parts == part)
            if len(rows):
                picked = indices(rows)
                columns = [take(column, picked) for column in batch.columns]
                own = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
                run = self._file.append([own], (0, 0))
                self.bytes += run.place[1] - run.place[0]
                self._runs[part].append(run)

    def parts(self) -> Iterator[Iterator[pa.RecordBatch]]:
        """The batches of each part that has some."""
        for runs in self._runs:
            if runs:
                yield (batch for run in runs for batch in run.open().batches)

    def _parts(self, keys: Sequence[pa.Array]) -> np.ndarray:
        bounds, data = text(encode(keys))
        codes = np.empty(len(keys[0]), dtype=np.uint64)
        codes_of(data.view(np.uint64), bounds[1:] // WORD, codes)
        for _ in range(self.depth + 1):
            codes *= _MIXING
            codes ^= codes >> np.uint64(32)
        return (codes % np.uint64(PARTS)).astype(np.int64)
