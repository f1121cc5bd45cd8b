"""The files that decide about a change: those of its buckets if it takes nothing away.

Manifests of other partitions, and of other buckets alone, stay unread. So a commit costs what it
changes, and another attempt after a lost race what the winner has added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from keyfold.storage.commits.job_places import JobPlaces
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.live_files import Asked, LiveFiles
from keyfold.storage.metadata.partition_bounds import (  # fmt: skip
    Bounded,
    EitherPartitions,
    Partition,
    SomePartitions,
)
from keyfold.storage.metadata.snapshot_files import live_of_snapshot, live_where
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table


@dataclass(frozen=True)
class LookedAt:
    """The files that decide, and `around` them those of the partitions of the messages at least,
    but for manifests that only have files of other buckets, of which the partition has as many.
    """

    files: Sequence[LiveFile]
    around: LiveFiles

    @staticmethod
    def of(
        table: Table,
        base: Snapshot | None,
        ours: JobPlaces,
        *,
        at_all: bool,
        taken: Callable[[Partition], bool] | None = None,
    ) -> LookedAt:
        """The files of `base` that decide about a change with messages of these places; all with
        `at_all`, but for the partitions of neither the messages nor those `taken` if that is a
        condition.
        """
        if base is not None and isinstance(taken, Bounded):
            own = SomePartitions(set(ours.buckets))
            asked = Asked.where(EitherPartitions(taken, own))
            found, _ = live_where(table.manifests, base, asked)
            return LookedAt(found.files(), found)
        if base is not None and at_all:
            every = live_of_snapshot(table.manifests, base)
            return LookedAt(every.files(), every)
        if base is None:
            return LookedAt((), LiveFiles((), ()))
        found, _ = live_where(table.manifests, base, _asked(table, ours))
        return LookedAt(found.in_buckets(ours.buckets), found)


def _asked(table: Table, ours: JobPlaces) -> Asked:
    """The files of the partitions of a job. Those of other buckets are needed where they may be of
    another number of buckets than the job's, or an index says the buckets of keys.
    """
    asked, totals = Asked.of_partitions(set(ours.buckets)), ours.every
    if table.options.is_dynamic or len(totals) != 1:
        return asked
    every = set().union(*ours.buckets.values())
    return replace(asked, takes_bucket=lambda one, of: one in every or of not in totals)
