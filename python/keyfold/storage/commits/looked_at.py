"""The files that decide about a change: those of its buckets if it takes nothing away.

Manifests of other partitions stay unread. So a commit costs what it changes, and another attempt
after a lost race what the winner has added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.live_files import Asked, LiveFiles
from keyfold.storage.metadata.partition_bounds import (  # fmt: skip
    Bounded,
    EitherPartitions,
    Partition,
    SomePartitions,
)
from keyfold.storage.metadata.snapshot_files import in_partitions, live_of_snapshot, live_where
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage


@dataclass(frozen=True)
class LookedAt:
    """The files that decide, and `around` them those of the partitions of the messages at least."""

    files: Sequence[LiveFile]
    around: LiveFiles

    @staticmethod
    def of(
        table: Table,
        base: Snapshot | None,
        messages: Sequence[CommitMessage],
        *,
        at_all: bool,
        taken: Callable[[Partition], bool] | None = None,
    ) -> LookedAt:
        """The files of `base` that decide about a change with these messages; all with `at_all`,
        but for the partitions of neither the messages nor those `taken` if that is a condition.
        """
        if base is not None and isinstance(taken, Bounded):
            ours = SomePartitions({one.partition.values for one in messages})
            asked = Asked.where(EitherPartitions(taken, ours))
            found, _ = live_where(table.manifests, base, asked)
            return LookedAt(found.files(), found)
        if base is not None and at_all:
            every = live_of_snapshot(table.manifests, base)
            return LookedAt(every.files(), every)
        found = in_partitions(table.manifests, base, {one.partition.values for one in messages})
        places = {(one.partition.values, one.bucket) for one in messages}
        return LookedAt(found.in_places(places), found)

    def totals(self, messages: Sequence[CommitMessage]) -> dict[tuple[Any, ...], int]:
        """The number of buckets of each partition of the messages that has files."""
        return self.around.totals({message.partition.values for message in messages})
