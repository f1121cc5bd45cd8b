"""What travels in a compaction: one description for all tasks, a step per commit, its tasks.

JSON on the wire and opaque to the JVM, as in `keyfold.wire.specs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import (
    FileAtLevel,
    Json,
    Merged,
    SchemaColumns,
    Split,
    batch_from_text,
    batch_to_text,
)


@dataclass(frozen=True)
class CompactionSpec:
    """What every task of one compaction shares: the layout, with the options of this call, and the
    columns of older schemas that files use.
    """

    layout: TableLayout
    schemas: Mapping[int, SchemaColumns]

    def to_json(self) -> dict[str, Any]:
        return {
            "layout": self.layout.to_json(),
            "schemas": {str(k): [list(c) for c in v] for k, v in self.schemas.items()},
        }

    @staticmethod
    def from_json(json: Json) -> CompactionSpec:
        schemas = {
            int(schema_id): tuple((c[0], c[1], c[2]) for c in columns)
            for schema_id, columns in json["schemas"].items()
        }
        return CompactionSpec(TableLayout.from_json(json["layout"]), schemas)


@dataclass(frozen=True)
class Task:
    """What one task merges: sections of one bucket, whole or cut by key range.

    `level` is that of the files it writes. `oldest` says of each section whether nothing older
    lies below it, so that deletes end there. The files of `below` are not merged: under first-row
    rows whose key they hold are left out. With `rescaled` the split is of all buckets of a
    partition, whose folder its path is, and the files written are those of its bucket of so many.
    """

    split: Split
    level: int
    oldest: tuple[bool, ...]
    below: Split | None = None
    rescaled: int | None = None

    @property
    def directory(self) -> str:
        """The folder of the files it writes."""
        path = self.split.path
        return path if self.rescaled is None else f"{path}/bucket-{self.split.bucket}"

    def to_json(self) -> dict[str, Any]:
        return {
            "split": self.split.to_json(),
            "level": self.level,
            "oldest": list(self.oldest),
            "below": None if self.below is None else self.below.to_json(),
            "rescaled": self.rescaled,
        }

    @staticmethod
    def from_json(json: Json) -> Task:
        below = json.get("below")
        return Task(
            Split.from_json(json["split"]),
            json["level"],
            tuple(json["oldest"]),
            None if below is None else Split.from_json(below),
            json.get("rescaled"),
        )


@dataclass(frozen=True)
class Step:
    """One commit: sections of a bucket that are merged, and files that only change their level."""

    job: str
    partition: pa.RecordBatch | None
    bucket: int
    total_buckets: int
    level: int
    merged: tuple[Merged, ...]
    upgraded: tuple[FileAtLevel, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "partition": None if self.partition is None else batch_to_text(self.partition),
            "bucket": self.bucket,
            "total_buckets": self.total_buckets,
            "level": self.level,
            "merged": [one.to_json() for one in self.merged],
            "upgraded": [list(file) for file in self.upgraded],
        }

    @staticmethod
    def from_json(json: Json) -> Step:
        partition = json["partition"]
        return Step(
            json["job"],
            None if partition is None else batch_from_text(partition),
            json["bucket"],
            json["total_buckets"],
            json["level"],
            tuple(Merged.from_json(one) for one in json["merged"]),
            tuple((name, level) for name, level in json["upgraded"]),
        )
