"""rewrite_file_index: data files get the Bloom filters that the table asks for, and stay."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal

import pyarrow as pa

from keyfold.compact.named_partitions import taken
from keyfold.errors import TableError
from keyfold.files.column_mapping import sources
from keyfold.files.indexes.file_indexes import (
    BLOOM_KIND,
    SUFFIX,
    as_text,
    name_and_bytes,
    parts_of,
)
from keyfold.files.indexes.making import Making, index_bytes
from keyfold.files.paimon_values import stored_type
from keyfold.options.columns.bloom_filters import BloomFilterSize, bloom_filters
from keyfold.options.unparsed import IN_MANIFEST, INDEXED
from keyfold.procedures.declare import CONDITION, Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.storage.commits import commit
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.live_files import Asked
from keyfold.storage.table import Table, reads_files
from keyfold.types.logical import with_nullability
from keyfold.wire.partitions import Partition
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import CompactionStep, ScanSpec
from keyfold.write.keys.shared_keys import SharedKeys

Made = tuple[LiveFile, str]
Filters = Mapping[str, BloomFilterSize]


def _rewrite(call: ProcedureCall, where: Sequence[Predicate] | Literal[False]) -> Rows:
    table = call.newest()
    table.check_rewritable()
    filters = bloom_filters(table.layout, table.options)
    if not filters:
        raise TableError(
            f"rewrite_file_index: table {table.layout.name} names no column in {INDEXED.name}; "
            "ALTER TABLE … SET TBLPROPERTIES does"
        )
    steps = [] if where is False else _steps(table, _made(table, filters, where, call.threads))
    _, conflicts = commit.compact(table, steps, SharedKeys(table)) if steps else (None, {})
    done = [one for one in steps if one.step.job not in conflicts]
    for one in steps:
        if one.step.job in conflicts:  # others have merged a file of it meanwhile
            folder = one.step.partition.bucket_folder(table.layout, one.step.bucket)
            _remove(table, ((folder, text) for text in one.indexes.values()))
    return [
        {
            "written_partitions": len({one.step.partition.values for one in done}),
            "written_indexes": sum(len(one.indexes) for one in done),
        }
    ]


@reads_files
def _made(table: Table, filters: Filters, where: Sequence[Predicate], threads: int) -> list[Made]:
    """The files that get an index, and it as text. On an error those that are made are removed."""
    asked = Asked.where(taken(table.layout, None, where))
    files = [file for file in table.to_read(asked)[0].files() if file.external_path is None]
    scan = ScanSpec(table.layout, tuple(filters), table.stored_schemas(files))
    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(_indexed, table, scan, filters, file) for file in files]
    ended = zip(files, running, strict=True)
    made = [(file, one.result()) for file, one in ended if one.exception() is None]
    found = [(file, text) for file, text in made if text is not None]
    if len(made) < len(running):
        _remove(table, ((file.folder(table.layout), text) for file, text in found))
        next(one for one in running if one.exception() is not None).result()
    return found


def _indexed(table: Table, scan: ScanSpec, filters: Filters, file: LiveFile) -> str | None:
    """The index of a file, as text (`as_text`); None if it has the filters. Columns that the file
    lacks, or holds in another type, get none.
    """
    named = {}
    for source in sources(scan, file.schema_id, scan.columns):
        kind = source.target.type
        if source.stored is not None and with_nullability(source.stored, kind.nullable) == kind:
            named[source.target.name] = source.name
    folder, sizes = file.folder(table.layout), {named[name]: filters[name] for name in named}
    parts = _stored(table, folder, file)
    if all(_is_filter(parts.get(name, {}), size) for name, size in sizes.items()):
        return None
    making = Making(sizes)
    for batch in read_file(scan, table.files, folder, file, Wanted(tuple(named))):
        assert isinstance(batch, pa.RecordBatch)
        kinds = {name: stored_type(table.layout.column(name).type) for name in named}
        making.add(
            pa.table(
                {named[n]: batch.column(n).cast(kind, safe=False) for n, kind in kinds.items()}
            )
        )
    for name, made in making.parts.items():
        parts[name] = {**parts.get(name, {}), **made}
    # no entry comes back that one has taken away: it would take this one too
    unique = uuid.uuid4()
    data = index_bytes(parts, unique.bytes)
    if len(data) <= table.options[IN_MANIFEST]:
        return as_text(None, data)
    name = f"{file.name}-{unique}{SUFFIX}"
    table.files.write(f"{folder}/{name}", data)
    return name


def _is_filter(kinds: Mapping[str, bytes], size: BloomFilterSize) -> bool:
    """Whether a column has a filter of this size."""
    return len(kinds.get(BLOOM_KIND, b"")) == size.bits // 8 + 4


def _stored(table: Table, folder: str, file: LiveFile) -> dict[str, dict[str, bytes]]:
    """The indexes that the file has; none if they are missing or damaged."""
    name, data = name_and_bytes(file.index(sys.maxsize) or None)
    if name is not None:
        with suppress(FileNotFoundError):
            data = table.files.read(f"{folder}/{name}")
    return parts_of(data or b"")


def _steps(table: Table, made: Sequence[Made]) -> list[Compaction]:
    """A step for the files of each level of a bucket."""
    by_place: dict[tuple[Any, ...], list[Made]] = {}
    for file, text in made:
        place = file.partition, file.bucket, file.total_buckets, file.level
        by_place.setdefault(place, []).append((file, text))
    found = []
    for (values, bucket, total, level), own in by_place.items():
        step = CompactionStep(
            str(uuid.uuid4()),
            Partition.of(table.layout, values),
            bucket,
            total,
            level,
            (),
            upgraded=tuple((file.name, level) for file, _ in own),
            vectors={file.name: file.vector for file, _ in own if file.vector is not None},
        )
        found.append(Compaction(step, indexes={file.name: text for file, text in own}))
    return found


def _remove(table: Table, indexes: Iterable[tuple[str, str]]) -> None:
    """Remove indexes that are files, in these folders."""
    for folder, text in indexes:
        name, _ = name_and_bytes(text)
        if name is not None:
            table.files.remove(f"{folder}/{name}")


REWRITE_FILE_INDEX = Procedure(
    "rewrite_file_index",
    "gives data files the Bloom filters that the table asks for",
    (
        ProcedureParameter(
            "where",
            CONDITION,
            "the partitions that satisfy a condition, as 'dt >= ''2024-01-01'''",
            (),
        ),
    ),
    {"written_partitions": "INT", "written_indexes": "INT"},
    _rewrite,
    "Gives the data files that lack a [Bloom filter](interop.md#file-indexes) of a column that the "
    "table names, or have one of another size, the filters, in one commit. The files stay, and so "
    "do other indexes that they have. The columns are read by threads of the process that calls.",
)
