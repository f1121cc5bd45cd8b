"""The buckets of a table in which rows may get them later (`bucket` = -2): of each partition as
many as it has already, or as new ones begin with; or one place for all rows that get them later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from keyfold.files.buckets import BucketKey, grouped, partition_codes, split
from keyfold.options.clusters import first_buckets, is_postponing
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.types.literals import manifest_value
from keyfold.wire.partitions import POSTPONED
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write.job import file_names


class BucketCounts:
    """The number of buckets of each partition, as a job writes them."""

    def __init__(self, spec: WriteSpec, options: TableOptions) -> None:
        self._all = options.bucket
        if options.bucket == POSTPONED and not is_postponing(options):
            self._all = first_buckets(options)
        self._own = {one.partition.values: one.buckets for one in spec.buckets}

    def of(self, partition: tuple[Any, ...]) -> int:
        """The number of buckets of a partition."""
        return self._own.get(partition, self._all)


def names_of_job(spec: WriteSpec, options: TableOptions) -> Iterator[str]:
    """The names of the data files of a task. Those of rows that get buckets later name the job and
    a writer: Paimon's compactions read the files of a writer in their order, and those of others
    beside them. It is one for all jobs, so that what came last to a key stays.
    """
    if not is_postponing(options):
        return file_names()
    return file_names(f"data-u-{spec.job}-s-0-w-")


class PostponedPlaces:
    """The buckets of the rows of a task in such a table."""

    def __init__(self, spec: WriteSpec) -> None:
        self._layout, self._options = spec.layout, parse(spec.layout)
        self._counts = BucketCounts(spec, self._options)

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
        """The rows of each bucket, in their order."""
        for rows in grouped(partition_codes(self._layout, batch)):
            part = batch if rows is None else batch.take(pa.array(rows))
            names = self._layout.partition_keys
            values = tuple(manifest_value(part.column(name)[0]) for name in names)
            number = self._counts.of(values)
            if number == POSTPONED:
                yield BucketKey(values, POSTPONED), part
            else:
                yield from split(self._layout, with_buckets(self._options, number), part)

    def noted(self, messages: list[CommitMessage]) -> list[CommitMessage]:
        """The messages as they are."""
        return messages


def with_buckets(options: TableOptions, number: int) -> TableOptions:
    """The options of a table with this number of buckets."""
    return replace(options, values={**options.values, TableOptions.bucket.name: number})
