"""The buckets that new keys of a part of a partition go to: the first that has room, else a new
one, else any of the part. The rules are those of Paimon's `HashBucketAssigner`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from keyfold.errors import TableError
from keyfold.files.hash_index import Hashes
from keyfold.options.clusters import MOST_BUCKETS, clusters
from keyfold.options.declared import TableOptions

Buckets = npt.NDArray[np.int16]


class BucketRoom:
    """The room in the buckets of one part of a partition of `table`, of which `rows` says the keys
    that each bucket holds. The buckets of a part are those congruent to its number.
    """

    def __init__(
        self, table: str, options: TableOptions, part: int, rows: Mapping[int, int]
    ) -> None:
        self._table, self._options, self._step = table, options, clusters(options)
        own = sorted(bucket for bucket in rows if bucket % self._step == part)
        left = {bucket: options.bucket_keys - rows[bucket] for bucket in own}
        self._open = deque((bucket, room) for bucket, room in left.items() if room > 0)
        self._own, self._next = set(own), part
        self._all: Buckets | None = None  # once there may be no more

    def assign(self, new: Hashes) -> Buckets:
        """The buckets of hashes that no bucket has. Raises TableError if no number is left."""
        found, done = np.empty(len(new), np.int16), 0
        while done < len(new) and (self._open or self._begins_another()):
            bucket, room = self._open.popleft()
            end = min(len(new), done + room)
            found[done:end] = bucket
            if end - done < room:
                self._open.appendleft((bucket, room - (end - done)))
            done = end
        if done < len(new):
            found[done:] = self._any(new[done:])
        return found

    def _begins_another(self) -> bool:
        """Whether there may be another bucket, which then has room."""
        options = self._options
        most = options.most_buckets if options.most_buckets > 0 else MOST_BUCKETS
        while self._next in self._own:
            self._next += self._step
        if self._next < most:
            self._own.add(self._next)
            self._open.append((self._next, options.bucket_keys))
            return True
        if options.most_buckets > 0:
            return False
        raise TableError(
            f"writing table {self._table}: a partition has {most} buckets of "
            f"{options.bucket_keys} keys, and no more are possible: raise "
            "dynamic-bucket.target-row-num"
        )

    def _any(self, new: Hashes) -> Buckets:
        """A bucket of the part for each hash: all of them grow."""
        if self._all is None:
            self._all = np.array(sorted(self._own), np.int16)
        found: Buckets = self._all[np.abs(new.astype(np.int64)) % 7919 % len(self._all)]
        return found
