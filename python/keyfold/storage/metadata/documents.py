"""JSON and Avro files of metadata, decoded within bounds: JSON no deeper than any writer nests it.
A few bytes of Avro may claim any number of values, any depth, and any size when decompressed.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeVar

import fastavro
import pyarrow as pa

from keyfold.files import damage
from keyfold.stores import avro_blocks
from keyfold.stores.avro_blocks import SYNC_BYTES
from keyfold.stores.files import Files

Made = TypeVar("Made")
_DEPTH_OF_JSON = 200  # a type in a type takes three
MOST_BYTES = 256 << 20  # decompressed
MOST_RECORDS = 1 << 20
_BLOCK_BYTES = 1 << 18


def document(data: bytes) -> Any:
    """The JSON value. Raises ValueError if the bytes are not JSON, or nested too deep."""
    try:
        found = json.loads(data)
    except RecursionError:
        raise _too_deep() from None
    level = [found]
    for _ in range(_DEPTH_OF_JSON):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return found
    raise _too_deep()


def text_of(found: Mapping[str, Any]) -> bytes:
    """A JSON object as files of metadata have it."""
    return json.dumps(found, indent=2, ensure_ascii=False).encode()


def read_as(
    files: Files, path: str, kind: str, make: Callable[[Mapping[str, Any]], Made]
) -> Made | None:
    """The object that `make` makes of the JSON of a file of this kind; None if the file is missing.
    Raises CorruptDataError if it can't be understood.
    """
    try:
        return make(document(files.read(path)))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise damage.metadata_file(kind, path, repr(error)) from error


def _inside(found: Any) -> list[Any]:
    values = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [value for value in values if isinstance(value, dict | list)]


def _too_deep() -> ValueError:
    return ValueError(f"it is nested deeper than {_DEPTH_OF_JSON} levels")


_BLOCK: Any = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Block",
        "fields": [
            {"name": "count", "type": "long"},
            {"name": "data", "type": "bytes"},
            {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": SYNC_BYTES}},
        ],
    }
)


@dataclass(frozen=True)
class AvroFile:
    """An Avro file without its codec: the bytes of its schema and of all its records."""

    schema: bytes
    count: int
    content: bytes


def opened(data: bytes) -> AvroFile:
    """The file of these bytes. Raises some exception if they are not an Avro file."""
    source = avro_blocks.opened(BytesIO(data), len(data))
    total, parts, left = 0, list[bytes](), MOST_BYTES
    for count, part in avro_blocks.blocks(source, MOST_BYTES):
        left -= len(part)
        total += count
        if left < 0 or total > MOST_RECORDS:
            raise ValueError(
                f"it holds more than {MOST_BYTES >> 20} MiB or {MOST_RECORDS} records, which no "
                "writer puts into one file (manifest.target-file-size)"
            )
        parts.append(part)
    return AvroFile(source.schema, total, b"".join(parts))


def blocks(records: Sequence[bytes], sync: bytes) -> Iterator[bytes]:
    """The blocks of a file whose header ends in `sync`, for records that are encoded already, by
    the codec zstandard.
    """
    codec, held, size = pa.Codec("zstd"), list[bytes](), 0
    for number, record in enumerate(records, 1):
        held.append(record)
        size += len(record)
        if size >= _BLOCK_BYTES or number == len(records):
            data = codec.compress(b"".join(held), asbytes=True)
            out = BytesIO()
            block = {"count": len(held), "data": data, "sync": sync}
            fastavro.schemaless_writer(out, _BLOCK, block)
            yield out.getvalue()
            held, size = [], 0


def checked_schema(schema: bytes) -> Any:
    """The schema of records that nest to an end. Raises some exception if they don't."""
    found = document(schema)
    avro_blocks.check_nested(found)
    return found


def decode(data: bytes) -> list[Any]:
    """The records of a file. Raises some exception if its bytes are not an Avro file."""
    file = opened(data)
    schema: Any = fastavro.parse_schema(checked_schema(file.schema))
    content = BytesIO(file.content)
    records: list[Any] = [
        fastavro.schemaless_reader(content, schema, None) for _ in range(file.count)
    ]
    if content.tell() != len(file.content):
        raise ValueError(f"it ends after byte {content.tell()} of {len(file.content)}")
    return records
