"""Tables in a temporary warehouse, and messages of files that need not exist to be committed."""

import itertools
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.commits import answers, commit
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.storage.metadata.cut_bounds import (  # fmt: skip
    KEY_LENGTH,
    VALUE_LENGTH,
    first_and_last,
    row_stats,
)
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table
from keyfold.types import logical
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition
from keyfold.wire.row_stats import RowStats
from keyfold.wire.specs import CommitMessage, FileMeta, WriteSpec
from tests.option_names import option_names

SEQUENCES = itertools.count(1000)


def column(
    name: str, spark_type: Any = "long", nullable: bool = True, **more: Any
) -> dict[str, Any]:
    """A column as a CREATE question has it."""
    return {"name": name, "type": spark_type, "nullable": nullable} | more


def new_table(*columns: dict[str, Any], key: str = "k", by: str = "", **options: str) -> NewTable:
    """`k` and `v` BIGINT unless named, two buckets; option names with _ for - and __ for a dot."""
    names = option_names(options)
    return NewTable(
        columns or (column("k"), column("v")),
        tuple(by.split(",")) if by else (),
        tuple(key.split(",")) if key else None,
        {"bucket": "2"} | names,
    )


def catalog(folder: Path) -> Catalog:
    """The catalog of a warehouse folder."""
    return open_catalog("test", {"warehouse": str(folder)})


def table(folder: Path, new: NewTable | None = None, name: str = "t") -> Table:
    """A table made anew in namespace `default`."""
    return catalog(folder).create_table(["default"], name, new or new_table())


def reload(found: Table) -> Table:
    """The table at its newest schema and snapshot."""
    folder = Path(found.layout.location).parent.parent
    return catalog(folder).load_table([found.namespace], found.table)


def spec(found: Table, sequence: int = 0) -> WriteSpec:
    """A write job of its own."""
    columns = tuple(c.name for c in found.layout.columns)
    return WriteSpec(found.layout, columns, False, sequence, str(uuid.uuid4()))


def message(
    found: Table,
    low: int = 0,
    high: int = 9,
    *,
    bucket: int = 0,
    partition: tuple[Any, ...] = (),
    sequence: int | None = None,
    files: int = 1,
    total: int = 2,
) -> CommitMessage:
    """Files with BIGINT keys low … high that were never written."""
    number = next(SEQUENCES) if sequence is None else sequence
    metas = tuple(_meta(found.layout, low, high, number) for _ in range(files))
    return CommitMessage(Partition.of(found.layout, partition), bucket, total, metas)


def committed(found: Table, spec: WriteSpec, messages: Sequence[CommitMessage]) -> int | None:
    """Commit files that were never written, or others in their place if they come late."""
    answer = commit.append(found, spec, messages)
    while isinstance(answer, answers.Late):
        later = replace(spec, snapshot=answer.seen)
        messages = [message(found, bucket=m.bucket, sequence=answer.sequence) for m in messages]
        answer = commit.append(found, later, messages)
    return answer


def _meta(layout: TableLayout, low: int, high: int, sequence: int) -> FileMeta:
    names = [c.name for c in layout.columns if logical.is_atomic(c.type)]
    keys, values = (_Bounds.of(layout, some, low, high) for some in (layout.key, names))
    return FileMeta(
        name=f"data-{uuid.uuid4()}-0.parquet",
        size=1000,
        rows=high - low + 1,
        delete_rows=0,
        min_sequence=sequence,
        max_sequence=sequence,
        schema_id=layout.schema_id,
        level=0,
        creation_millis=int(time.time() * 1000),
        keys=first_and_last(keys.codec, keys.rows),
        key_stats=keys.stats(KEY_LENGTH),
        value_stats=values.stats(VALUE_LENGTH),
        value_stats_columns=None if len(names) == len(layout.columns) else tuple(names),
    )


class _Bounds(NamedTuple):
    """Rows of the least and the greatest value of columns, NULL in those that are no integers."""

    codec: RowCodec
    rows: pa.RecordBatch

    @staticmethod
    def of(layout: TableLayout, names: Sequence[str], low: int, high: int) -> "_Bounds":
        columns = [layout.column(name) for name in names]
        fields = [column.arrow_field.with_nullable(True) for column in columns]
        arrays = [
            pa.array([low, high] if pa.types.is_integer(f.type) else [None, None], f.type)
            for f in fields
        ]
        rows = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        return _Bounds(RowCodec.of([column.type for column in columns]), rows)

    def stats(self, length: int) -> RowStats:
        return row_stats(self.codec, self.rows, (0,) * len(self.codec.types), length)
