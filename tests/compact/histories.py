"""Random histories of tables: runs of records, committed as jobs commit them."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.read.reader import read
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table
from keyfold.testing.tables import Record, batch, records
from keyfold.types import spark as spark_types
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import CommitMessage, FileMeta, WriteSpec
from keyfold.write.jobs import publish
from keyfold.write.parquet import Target, write_files
from tests.merge.random_tables import random_records
from tests.option_names import option_names
from tests.random_values import value
from tests.read import harness
from tests.storage import tables


def stored(folder: Path, layout: TableLayout, name: str = "t", **options: str) -> Table:
    """A table of this layout, with one bucket."""
    columns = tuple(
        tables.column(c.name, spark_types.to_spark(c.type), c.type.nullable) for c in layout.columns
    )
    given = option_names(options)
    settings = {**layout.options, "bucket": "1", **given}
    return tables.table(folder, NewTable(columns, (), layout.primary_key, settings), name)


def written(
    found: Table, rows: Sequence[Record], sequence: int
) -> tuple[WriteSpec, list[CommitMessage]]:
    """A job that has written its records and not committed yet."""
    layout = found.layout
    merge = plan_merge(layout, layout.arrow_schema.names, marks=found.options.engine.folds_columns)
    batches = fold_unsorted(merge, [batch(layout, rows)])
    directory = UNPARTITIONED.bucket_folder(layout, 0)
    target = Target(layout, found.options)
    files: list[FileMeta] = write_files(target, directory, batches, sequence)
    spec = WriteSpec(
        layout,
        tuple(layout.arrow_schema.names),
        False,
        sequence,
        str(uuid.uuid4()),
        snapshot=found.snapshots.latest_id(),
    )
    return spec, [CommitMessage(UNPARTITIONED, 0, 1, tuple(files))] if files else []


def committed(found: Table, spec: WriteSpec, messages: Sequence[CommitMessage]) -> None:
    """Commit as commit_write does."""
    publish(found, spec, messages)


def append(found: Table, rows: Sequence[Record], sequence: int) -> None:
    """One job."""
    committed(found, *written(found, rows, sequence))


def rows(found: Table, size: int = 1 << 20) -> list[Record]:
    """The table's rows, by key; `size` bytes per split cut it into key ranges."""
    scan, splits, _ = harness.planned(
        found, source__split__target_size=str(size), source__split__open_file_cost="1"
    )
    return [one for split in splits for one in records(list(read(scan, split)))]


class History:
    """A table that jobs append to, with keys that meet across jobs."""

    def __init__(self, random: Random, table: Table, kinds: Sequence[int]) -> None:
        self.random, self.table = random, table
        self._kinds = kinds
        self._may_be_late = table.options.engine.keeps_records
        self._number = 1000
        self._pool = random_records(random, table.layout, 40, (0,))

    def some(self, count: int) -> list[Record]:
        """Records of keys that others have too."""
        drawn = random_records(self.random, self.table.layout, count, self._kinds)
        keys = self.table.layout.key
        made = []
        for kind, values in drawn:
            _, other = self.random.choice(self._pool)
            made.append((kind, self._small(values) | {name: other[name] for name in keys}))
        return made

    def _small(self, values: dict[str, Any]) -> dict[str, Any]:
        """Sums and products that never overflow, nor round."""
        layout = self.table.layout
        names = [
            name
            for name in values
            if layout.options.get(f"fields.{name}.aggregate-function") in ("sum", "product")
        ]
        kinds = {name: layout.arrow_schema.field(name).type for name in names}
        drawn = {name: self.random.choice((None, -1, 0, 1)) for name in names}
        return values | {name: pa.scalar(drawn[name], kinds[name]).as_py() for name in names}

    def append_base(self) -> None:
        """A large job of all those keys and many others, which small ones are not merged with."""
        layout = self.table.layout
        wide = random_records(self.random, layout, 800, (0,))
        kinds = {name: layout.arrow_schema.field(name).type for name in layout.key}
        for _, values in wide:
            values |= self._small(values)
            values |= {name: value(kind, self.random) for name, kind in kinds.items()}
        shared = [(0, self._small(values)) for _, values in self._pool]
        append(self.table, wide + shared, self.next_number())

    def next_number(self) -> int:
        """Above all before it; sometimes of a job that began long before it committed."""
        self._number += self.random.randrange(1, 5)
        is_late = self._may_be_late and self.random.random() < 0.3
        return self.random.randrange(1, self._number) if is_late else self._number

    def append(self, jobs: int) -> None:
        """Jobs one after another."""
        for _ in range(jobs):
            rows = self.some(self.random.choice((1, 3, 30)))
            append(self.table, rows, self.next_number())
