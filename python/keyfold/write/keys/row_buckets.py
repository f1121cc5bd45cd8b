"""The buckets of the rows of a job: a fixed number of them by the hash of the bucket key, those
that keys are assigned to, or those that a partition has.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Protocol

import pyarrow as pa

from keyfold.files.buckets import BucketKey, split
from keyfold.options.parsing import parse
from keyfold.wire.partitions import POSTPONED
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write.keys.across_partitions import KeyParts
from keyfold.write.keys.assigned import AssignedPlaces
from keyfold.write.keys.postponed import PostponedPlaces


class Places(Protocol):
    """The buckets of the rows of one task."""

    def split(self, batch: pa.RecordBatch, /) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
        """The rows of each bucket, in their order."""

    def noted(self, messages: list[CommitMessage]) -> list[CommitMessage]:
        """The messages of all rows that were split, with what a commit must know of the buckets. On
        an error the files of the messages are removed.
        """


class FixedPlaces:
    """The buckets that the hash of the bucket key says."""

    def __init__(self, spec: WriteSpec) -> None:
        self.split = partial(split, spec.layout, parse(spec.layout))

    def noted(self, messages: list[CommitMessage]) -> list[CommitMessage]:
        """The messages as they are."""
        return messages


def places_of(spec: WriteSpec) -> Places:
    """The buckets of a task of the job."""
    if spec.layout.spans_partitions:
        return KeyParts(spec)
    options = parse(spec.layout)
    if options.bucket == POSTPONED:
        return PostponedPlaces(spec)
    return AssignedPlaces(spec) if options.is_dynamic else FixedPlaces(spec)
