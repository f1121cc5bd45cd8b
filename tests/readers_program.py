"""Other people's libraries, without any code of ours: pypaimon and pypaimon-rust answer questions.

`tests/readers.py` runs it with the Python of build/readers. A question is a line of JSON on stdin,
{"do": a name of QUESTIONS, and its arguments}; `rows` and `answer` are paths of Arrow IPC files,
with the rows to write and for the table that is the answer. A line on stdout is the other answer.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pypaimon import CatalogFactory, Schema
from pypaimon.read.streaming_table_scan import AsyncStreamingTableScan
from pypaimon.schema.data_types import AtomicType, DataField, DataTypeParser
from pypaimon.schema.schema_change import Move, SchemaChange
from pypaimon.table.row.generic_row import (
    GenericRow,
    GenericRowDeserializer,
    GenericRowSerializer,
)
from pypaimon.table.system import system_table_loader
from pypaimon.utils.file_store_path_factory import FileStorePathFactory
from pypaimon_rust.datafusion import PaimonCatalog

Json = dict[str, Any]


def create(catalog: Json, table: str, fields: list[Json], **schema: Any) -> None:
    """Make a table, and its namespace; `schema` has partition_keys, primary_keys and options."""
    found = CatalogFactory.create(catalog)
    found.create_database(table.partition(".")[0], True)
    found.create_table(table, Schema([DataField.from_dict(one) for one in fields], **schema), False)


def alter(catalog: Json, table: str, change: Json) -> None:
    """One change of a column."""
    do, column, to = change["do"], change["column"], change["to"]
    move = None if change["after"] is None else Move.after(column, change["after"])
    if do == "add":
        told = SchemaChange.add_column(column, DataTypeParser.parse_data_type(to), None, move)
    elif do == "drop":
        told = SchemaChange.drop_column(column)
    elif do == "rename":
        told = SchemaChange.rename_column(column, to)
    elif do == "type":
        told = SchemaChange.update_column_type(column, DataTypeParser.parse_data_type(to))
    else:
        told = SchemaChange.update_column_position(move)
    CatalogFactory.create(catalog).alter_table(table, [told])


def write(catalog: Json, table: str, rows: pa.Table) -> None:
    """Append rows, in one commit."""
    builder = CatalogFactory.create(catalog).get_table(table).new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    try:
        writer.write_arrow(rows)
        commit.commit(writer.prepare_commit())
    finally:
        writer.close()
        commit.close()


def write_by_rust(catalog: Json, table: str, rows: pa.Table) -> None:
    """Append rows by pypaimon-rust, in one commit."""
    builder = PaimonCatalog(catalog).get_table(table).new_batch_write_builder()
    writer = builder.new_write()
    for batch in rows.to_batches():
        writer.write_arrow(batch)
    builder.new_commit().commit(writer.prepare_commit())


def read(
    catalog: Json,
    table: str,
    where: list[Any] | None = None,
    options: dict[str, str] | None = None,
) -> pa.Table:
    """All merged rows, or those that pass `where`: a method of their predicates, its arguments.
    `options` are those of the read.
    """
    found = CatalogFactory.create(catalog).get_table(table)
    builder = (found.copy(options) if options else found).new_read_builder()
    if where is not None:
        predicate = getattr(builder.new_predicate_builder(), where[0])(*where[1:])
        builder = builder.with_filter(predicate)
    return builder.new_read().to_arrow(builder.new_scan().plan().splits())


def changes(catalog: Json, table: str, plans: int) -> pa.Table:
    """What a stream from snapshot 1 reads until it has made so many plans, one for each snapshot
    that has changes; the first column is the kind.
    """
    found = CatalogFactory.create(catalog).get_table(table)
    scan = AsyncStreamingTableScan(found, diff_threshold=1 << 30, prefetch_enabled=False)
    scan.next_snapshot_id = 1
    reader = found.new_stream_read_builder().with_include_row_kind().new_read()
    made = itertools.islice(scan.stream_sync(), plans)
    return pa.concat_tables([reader.to_arrow(plan.splits()) for plan in made])


def read_by_rust(catalog: Json, table: str, options: dict[str, str] | None = None) -> pa.Table:
    """All merged rows."""
    batches = list(rust_batches(catalog, table, options))
    found = PaimonCatalog(catalog).get_table(table).schema()
    names = [field.name() for field in found.fields()]
    return pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in names})


def rust_batches(
    catalog: Json, table: str, options: dict[str, str] | None = None
) -> Iterable[pa.RecordBatch]:
    """All merged rows, piece by piece."""
    builder = PaimonCatalog(catalog).get_table(table).new_read_builder(options)
    return builder.new_read().read_arrow(builder.new_scan().plan().splits())


def touch(reader: str, catalog: Json, table: str) -> float:
    """How many seconds it takes to read all, every cell of it."""
    start = time.perf_counter()
    is_rust = reader == "read_by_rust"
    for batch in rust_batches(catalog, table) if is_rust else [read(catalog, table)]:
        for column in batch.columns:
            pc.max(column)
    return time.perf_counter() - start


def files(catalog: Json, table: str) -> list[Json]:
    """The live files."""
    splits = CatalogFactory.create(catalog).get_table(table).new_read_builder().new_scan().plan()
    return [
        {
            "name": file.file_name,
            "size": file.file_size,
            "rows": file.row_count,
            "level": file.level,
            "min_key": file.min_key.values,
            "max_key": file.max_key.values,
            "is_dated": file.creation_time is not None,
            "place": [repr(split.partition.values), split.bucket],
        }
        for split in splits.splits()
        for file in split.files
    ]


def tag(catalog: Json, table: str, name: str, snapshot: int, branch: str | None = None) -> None:
    """Make a tag, and a branch of it."""
    found = CatalogFactory.create(catalog).get_table(table)
    found.create_tag(name, snapshot)
    if branch is not None:
        found.branch_manager().create_branch(branch, name)


def system_columns(catalog: Json, table: str, name: str) -> list[tuple[str, Any]]:
    """Names and types of a metadata table's columns."""
    found = system_table_loader.load(name, CatalogFactory.create(catalog).get_table(table))
    return [(field.name, field.to_dict()["type"]) for field in found.row_type().fields]


def system_rows(catalog: Json, table: str, name: str) -> pa.Table:
    """Rows of a metadata table."""
    found = system_table_loader.load(name, CatalogFactory.create(catalog).get_table(table))
    return found._build_arrow_table()


def binary_row(types: list[str], rows: pa.Table) -> pa.Table:
    """The other way round: of bytes and values, what the bytes hold and the values as bytes."""
    fields = [DataField(n, str(n), AtomicType(kind)) for n, kind in enumerate(types)]
    data, *values = (column[0].as_py() for column in rows.columns)
    found = GenericRowDeserializer.from_bytes(data, fields).values
    both = [GenericRowSerializer.to_bytes(GenericRow(values, fields)), *found]
    made = [pa.array([value], kind) for value, kind in zip(both, rows.schema.types, strict=True)]
    return pa.Table.from_arrays(made, rows.schema.names)


def bucket_path(kind: str, is_legacy: bool, rows: pa.Table) -> str:
    """The folder of a bucket below the partition of the only value of `rows`."""
    factory = FileStorePathFactory(
        "/t", ["p:q"], "__DEFAULT_PARTITION__", "parquet", "data-", "changelog-", is_legacy, False,
        "zstd", partition_types=[AtomicType(kind)],
    )  # fmt: skip
    value = rows.column(0)[0].as_py()
    return factory.bucket_path((value,), 3, canonical_partition=True)


QUESTIONS = {
    question.__name__: question
    for question in (
        *(create, alter, write, tag, read, changes, read_by_rust, write_by_rust, touch, files),
        *(system_columns, system_rows, binary_row, bucket_path),
    )
}


def answered(question: Json) -> Json:
    """The answer, or the error, to one question."""
    asked, path = QUESTIONS[question.pop("do")], question.pop("answer")
    try:
        if "rows" in question:
            with pa.ipc.open_file(question["rows"]) as file:
                question["rows"] = file.read_all()
        found = asked(**question)
    except BaseException as error:  # pypaimon-rust's panics are no Exception
        return {"error": f"{type(error).__name__}: {error}"}
    if not isinstance(found, pa.Table):
        return {"value": found}
    with pa.ipc.new_file(path, found.schema) as file:
        file.write_table(found)
    return {}


def main() -> None:
    """Answer until stdin ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
