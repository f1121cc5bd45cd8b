"""Tables that are written by jobs of ours, committed, planned and read, without a JVM."""

import itertools
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from keyfold.kernels.ops import DELETE
from keyfold.read.reader import read
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import ScanReport, plan_read
from keyfold.read.splits import Tasks
from keyfold.storage.commits import commit
from keyfold.storage.table import Table
from keyfold.testing import tables as testing
from keyfold.types.literals import Constant
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Named, Predicate
from keyfold.wire.specs import (
    KIND,
    ORDINAL,
    CommitMessage,
    RowChanges,
    ScanSpec,
    Split,
    WriteSpec,
)
from keyfold.write.writer import write
from tests.option_names import option_names
from tests.storage import tables

SEQUENCES = itertools.count(1)


def layout(folder: Path, *columns: tuple[str, Any], key: str = "k", **options: str) -> TableLayout:
    """A layout that no catalog knows; types are Paimon JSON, options have _ for -."""
    names = option_names(options)
    return testing.layout(dict(columns), key.split(","), {"bucket": "1"} | names, str(folder))


def job(found: TableLayout, ordinal: bool = False, columns: Sequence[str] = ()) -> WriteSpec:
    """A write job of its own, later than all before it."""
    names = tuple(columns or found.arrow_schema.names)
    return WriteSpec(found, names, ordinal, next(SEQUENCES), str(uuid.uuid4()))


def batches(
    found: TableLayout, rows: Iterable[dict[str, Any]], size: int = 7
) -> list[pa.RecordBatch]:
    """Rows as small batches of the table's types; an `_ORDINAL` in the rows is kept."""
    listed = list(rows)
    schema = found.arrow_schema
    if listed and ORDINAL in listed[0]:
        schema = schema.append(pa.field(ORDINAL, pa.int64()))
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    return pa.Table.from_pylist(listed, schema=nullable).to_batches(size)


def upsert(found: Table, rows: Iterable[dict[str, Any]]) -> list[CommitMessage]:
    """Write rows in one job and commit it."""
    spec = job(found.layout)
    messages = write(spec, batches(found.layout, rows))
    commit.append(tables.reload(found), spec, messages)
    return messages


def delete(found: Table, *keys: dict[str, Any]) -> None:
    """Delete the rows of some keys in one job, and commit it."""
    changes = RowChanges(is_unique=False)
    spec = replace(job(found.layout, columns=found.layout.primary_key), changes=changes)
    fields = [found.layout.column(name).arrow_field for name in spec.columns]
    schema = pa.schema([*fields, pa.field(KIND, pa.int8())])
    rows = pa.RecordBatch.from_pylist([key | {KIND: DELETE} for key in keys], schema)
    commit.append(tables.reload(found), spec, write(spec, [rows]))


def planned(
    found: Table,
    columns: Sequence[str] | None = None,
    filters: Sequence[Any] = (),
    limit: int | None = None,
    **options: str,
) -> tuple[ScanSpec, list[Split], ScanReport]:
    """The plan of a scan of the newest snapshot, through JSON as the JVM carries it; the splits of
    all its tasks.
    """
    scan, found_tasks, report = planned_tasks(found, columns, filters, limit, options)
    return scan, [split for task in found_tasks for split in task], report


def planned_tasks(
    found: Table,
    columns: Sequence[str] | None = None,
    filters: Sequence[Any] = (),
    limit: int | None = None,
    options: Mapping[str, str] | None = None,
    **more: Any,
) -> tuple[ScanSpec, list[list[Split]], ScanReport]:
    """The same by task; `more` are cores, enforced and aggregate."""
    table = tables.reload(found)
    names = table.layout.arrow_schema.names if columns is None else columns
    settings = option_names(options or {})
    request = ReadRequest(names, filters, limit=limit, options=settings, **more)
    scan, made, report = plan_read(table, request)
    assert not isinstance(made, Tasks) or made.count_splits() == sum(map(len, made))
    sent = ScanSpec.from_json(scan.to_json())
    return sent, [[Split.from_json(split.to_json()) for split in task] for task in made], report


def rows_of(scan: ScanSpec, splits: Iterable[Split]) -> list[dict[str, Any]]:
    """The rows of all splits, one after another."""
    return [row for split in splits for batch in read(scan, split) for row in batch.to_pylist()]


def rows(found: Table, *args: Any, **options: Any) -> list[dict[str, Any]]:
    """Plan and read; arguments as for `planned`."""
    scan, splits, _ = planned(found, *args, **options)
    return rows_of(scan, splits)


def where(op: str, column: str, *values: Any, type: str = "long") -> Predicate:
    """A predicate of a column and constants."""
    return Predicate(op, (Named((column,)), *(Constant(value, type) for value in values)))
