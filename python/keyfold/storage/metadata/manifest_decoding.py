"""The bytes of a manifest become columns, by a program of steps made of its writer's schema."""

from __future__ import annotations

import secrets
from functools import lru_cache
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from keyfold.kernels.avro.entries import codes_of, identities_of
from keyfold.kernels.avro.records import DEPTH, RecordColumns, decode_records
from keyfold.kernels.buffers import Rows, bytes_of
from keyfold.storage.metadata import entry_columns as at
from keyfold.storage.metadata.avro_program import WantedFields, least_bytes, program_of
from keyfold.storage.metadata.avro_records import ENTRY, ENTRY_FIELDS
from keyfold.storage.metadata.documents import AvroFile, checked_schema, opened
from keyfold.storage.metadata.entries import DELETE, RowShapes
from keyfold.storage.metadata.manifest_columns import (  # fmt: skip
    ManifestColumns,
    Numbers,
    record_of,
    repeated,
)

_WANTED = WantedFields(ENTRY_FIELDS, at.NUMBERS, at.SPANS)
_LEAST_BYTES = least_bytes(ENTRY_FIELDS)
_SCHEMAS_KEPT = 16
_SEED = secrets.randbits(64)


def columns_of(path: str, data: bytes, shapes: RowShapes) -> ManifestColumns:
    """The columns of a manifest. Raises some exception if its bytes are not those of a manifest, or
    if an entry is in it twice.
    """
    return columns_of_file(path, data, opened(data), shapes)


def columns_of_file(path: str, data: bytes, file: AvroFile, shapes: RowShapes) -> ManifestColumns:
    """The columns of a manifest that is opened."""
    if file.count * _LEAST_BYTES > len(file.content):
        raise ValueError(f"{len(file.content)} bytes claim {file.count} records")
    schema, program = _understood(file.schema)
    content, found = bytes_of(pa.py_buffer(file.content)), _empty(file.count)
    ends = found.ends
    accepted = decode_records(content, program, np.zeros(DEPTH, dtype=np.int64), found)
    done = int(ends[accepted - 1]) if accepted else 0
    if accepted < file.count:
        ENTRY(record_of(schema, file.content[done:]))  # it says what is wrong
        raise ValueError(f"record {accepted + 1} of {file.count} is not encoded as Avro has it")
    if done != len(content):
        raise ValueError(f"it has {len(content) - done} bytes more than its {file.count} records")
    made = _made(path, data, shapes, schema, file, found)
    made.see(memoryview(file.content))
    for row in np.flatnonzero(found.odd).tolist():
        ENTRY(made.record(row))
    _check_distinct(made)
    return made


@lru_cache(_SCHEMAS_KEPT)
def _understood(schema: bytes) -> tuple[Any, Rows]:
    """The schema of a file as Avro's library takes it, and the program that reads its records."""
    found = checked_schema(schema)
    program = program_of(found, _WANTED)
    return fastavro.parse_schema(found), program


def _empty(count: int) -> RecordColumns:
    """Columns of `count` records, all NULL."""
    return RecordColumns(
        np.zeros((len(at.NUMBERS), count), dtype=np.int64),
        np.ones((len(at.NUMBERS), count), dtype=np.uint8),
        np.full((len(at.SPANS), count, 2), -1, dtype=np.int32),
        np.zeros(count, dtype=np.int32),
        np.zeros(count, dtype=np.uint8),
    )


def _made(
    path: str,
    data: bytes,
    shapes: RowShapes,
    schema: Any,
    file: AvroFile,
    found: RecordColumns,
) -> ManifestColumns:
    content, spans, numbers = bytes_of(pa.py_buffer(file.content)), found.spans, found.numbers
    codes, firsts = codes_of(content, spans[at.PARTITION], _SEED)
    starts = spans[at.PARTITION][firsts].tolist()
    raw = [file.content[start : start + size] for start, size in starts]
    more = (
        (spans[at.EXTRA, :, 1] > 0)
        | (spans[at.INDEX, :, 1] >= 0)
        | (spans[at.ELSEWHERE, :, 1] >= 0)
    )
    return ManifestColumns(
        path,
        shapes,
        schema,
        file.schema,
        data,
        found.ends,
        numbers[at.KIND] == DELETE,
        tuple(_narrow(column) for column in numbers),
        found.nulls[at.DELETES].astype(bool),
        found.nulls[at.SOURCE].astype(bool),
        _narrow(codes),
        tuple(shapes.partition.decode(one) for one in raw),
        tuple(raw),
        *_side_by_side(content, spans[at.NAME]),
        (spans[at.FIRST].copy(), spans[at.LAST].copy()),
        more,
        identities_of(content, spans[at.NAME], numbers[at.BUCKET], numbers[at.LEVEL], _SEED),
    )


def _side_by_side(content: Numbers, spans: Numbers) -> tuple[bytes, Numbers]:
    """The bytes of spans, and where each is in these."""
    starts, sizes = spans[:, 0].astype(np.int64), np.maximum(spans[:, 1], 0).astype(np.int64)
    ends = np.cumsum(sizes)
    begins = ends - sizes
    places = np.repeat(starts - begins, sizes) + np.arange(int(sizes.sum()))
    return content[places].tobytes(), np.stack((begins, sizes), axis=1).astype(np.int32)


def _narrow(column: Numbers) -> Numbers:
    """The numbers in as few bytes as hold the largest of them."""
    if not len(column):
        return column.copy()
    kind = np.result_type(np.min_scalar_type(column.min()), np.min_scalar_type(column.max()))
    return column.astype(kind if kind.kind in "iu" else column.dtype)


def _check_distinct(made: ManifestColumns) -> None:
    """Raises ValueError if a file is added or deleted twice."""
    seen = set()
    for _, row in repeated([made], [np.arange(len(made))]):
        key = made.is_deleted.item(row), made.identifier(row)
        if key in seen:
            raise ValueError(f"file {made.name(row)} is in it twice")
        seen.add(key)
