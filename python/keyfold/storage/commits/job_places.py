"""The buckets of a job's files, gone through once for all that a commit asks about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from keyfold.storage.metadata.partition_bounds import Partition as Values
from keyfold.wire.message_texts import heads
from keyfold.wire.partitions import POSTPONED, Partition
from keyfold.wire.specs import CommitMessage


@dataclass(frozen=True)
class JobPlaces:
    """By the values of each partition: the partition, its `buckets` that have messages, and the
    `totals` that these say it has, those of postponed rows aside. `every` are the totals of all
    messages, `files` and `changelog` the numbers of data files and changelog files.
    """

    partitions: Mapping[Values, Partition] = field(default_factory=dict)
    buckets: Mapping[Values, set[int]] = field(default_factory=dict)
    totals: Mapping[Values, set[int]] = field(default_factory=dict)
    every: frozenset[int] = frozenset()
    files: int = 0
    changelog: int = 0

    @staticmethod
    def of(messages: Iterable[CommitMessage]) -> JobPlaces:
        """The places of messages."""
        partitions: dict[Values, Partition] = {}
        buckets: dict[Values, set[int]] = {}
        totals: dict[Values, set[int]] = {}
        every, files, changelog = set[int](), 0, 0
        for partition, bucket, total, written, emitted in heads(messages):
            values = partition.values
            of = buckets.get(values)
            if of is None:
                partitions[values], buckets[values], totals[values] = partition, set(), set()
                of = buckets[values]
            of.add(bucket)
            every.add(total)
            files += written
            changelog += emitted
            if bucket != POSTPONED:
                totals[values].add(total)
        return JobPlaces(partitions, buckets, totals, frozenset(every), files, changelog)
