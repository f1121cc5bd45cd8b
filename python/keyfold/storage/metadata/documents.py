"""JSON and Avro files of metadata, decoded within bounds: JSON no deeper than any writer nests it.
A few bytes of Avro may claim any number of values, any depth, and any size when decompressed.
"""

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeVar

import fastavro
import pyarrow as pa

from keyfold.files import damage
from keyfold.stores.files import Files

Made = TypeVar("Made")
_DEPTH_OF_JSON = 200  # a type in a type takes three
_DEPTH = 32  # of Avro
MOST_BYTES = 256 << 20  # decompressed
MOST_RECORDS = 1 << 20
SYNC_BYTES, _BLOCK_BYTES = 16, 1 << 18
_MAGIC, _SYNC = (
    {"type": "fixed", "name": n, "size": s} for n, s in (("Magic", 4), ("Sync", SYNC_BYTES))
)
_PRIMITIVE = {"boolean", "int", "long", "float", "double", "bytes", "string"}


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


def _record(name: str, **types: Any) -> Any:
    listed = [{"name": field, "type": kind} for field, kind in types.items()]
    return fastavro.parse_schema({"type": "record", "name": name, "fields": listed})


_HEADER = _record("Header", magic=_MAGIC, meta={"type": "map", "values": "bytes"}, sync=_SYNC)
_BLOCK = _record("Block", count="long", data="bytes", sync=_SYNC)


@dataclass(frozen=True)
class AvroFile:
    """An Avro file without its codec: the bytes of its schema and of all its records."""

    schema: bytes
    count: int
    content: bytes


def opened(data: bytes) -> AvroFile:
    """The file of these bytes. Raises some exception if they are not an Avro file."""
    source = BytesIO(data)
    header: Any = fastavro.schemaless_reader(source, _HEADER, None)
    meta = header["meta"]
    if header["magic"] != b"Obj\x01":
        raise ValueError("it does not begin as an Avro file")
    codec = meta.get("avro.codec", b"null").decode()
    return AvroFile(meta["avro.schema"], *_content(source, len(data), codec, header["sync"]))


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
    _depth(found, {})
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


def _content(source: BytesIO, size: int, codec: str, sync: bytes) -> tuple[int, bytes]:
    """The number of records in all blocks, and their bytes."""
    total, parts, left = 0, list[bytes](), MOST_BYTES
    while source.tell() < size:
        block: Any = fastavro.schemaless_reader(source, _BLOCK, None)
        part = _CODECS[codec](block["data"], left + 1)
        if block["sync"] != sync or not 0 <= block["count"] <= len(part):
            raise ValueError(f"a block of {len(part)} bytes claims {block['count']} records")
        left -= len(part)
        total += block["count"]
        if left < 0 or total > MOST_RECORDS:
            raise ValueError(
                f"it holds more than {MOST_BYTES >> 20} MiB or {MOST_RECORDS} records, which no "
                "writer puts into one file (manifest.target-file-size)"
            )
        parts.append(part)
    return total, b"".join(parts)


def _zstandard(data: bytes, most: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read_buffer(most))  # `read` loses its memory where it fails


def _snappy(data: bytes, most: int) -> bytes:
    length = shift = at = 0
    while shift == 0 or data[at - 1] & 0x80:
        length |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
    found: bytes = pa.Codec("snappy").decompress(data[:-4], min(length, most), asbytes=True)
    return found


_CODECS: dict[str, Callable[[bytes, int], bytes]] = {
    "null": lambda data, most: data,
    "deflate": lambda data, most: zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most),
    "zstandard": _zstandard,
    "snappy": _snappy,
    "bzip2": lambda data, most: bz2.BZ2Decompressor().decompress(data, most),
    "xz": lambda data, most: lzma.LZMADecompressor(memlimit=MOST_BYTES).decompress(data, most),
}


def _depth(schema: Any, named: dict[str, int | None]) -> int:
    """The depth to which values nest. `named` has the types that are defined, None: not to the end.

    Raises ValueError if the depth has no end, or if values have no bytes: any number of those fits
    anywhere.
    """
    if isinstance(schema, list):
        return max((_depth(one, named) for one in schema if one != "null"), default=0)
    if isinstance(schema, str):
        return 0 if schema in _PRIMITIVE else _referred(schema, named)
    kind = schema["type"]
    if kind in ("record", "fixed", "enum"):
        name = _short(schema["name"])
        before = named.get(name) or 0
        named[name] = None
        found = _depth_of_named(kind, schema, named)
        named[name] = max(found, before)
    else:
        inner = schema.get("items", schema.get("values")) if kind in ("array", "map") else kind
        found = 1 + _depth(inner, named)
    if found > _DEPTH:
        raise ValueError(f"its values nest deeper than {_DEPTH} levels")
    return found


def _depth_of_named(kind: str, schema: Any, named: dict[str, int | None]) -> int:
    if kind == "record":
        return 1 + max(_depth(field["type"], named) for field in schema["fields"])
    if kind == "fixed" and schema["size"] < 1:
        raise ValueError(f"values of type {schema['name']} have no bytes")
    return 0


def _referred(name: str, named: dict[str, int | None]) -> int:
    found = named.get(_short(name))
    if found is None:
        raise ValueError(f"type {name} holds itself, or nothing, or is not known")
    return found


def _short(name: str) -> str:
    return name.rpartition(".")[2]
