"""An Avro file as its header and its blocks, without their codec. A few bytes may claim any number
of records, any depth of values, and any size when decompressed: each has a bound here.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

SYNC_BYTES = 16
_MAGIC = b"Obj\x01"
DEPTH = 32  # of values
_PIECE = 1 << 18  # bytes: Paimon's blocks have tens of KB
_MOST_MEMORY = 256 << 20  # of a decompressor
_MOST_OF_HEADER = 1 << 24
_PRIMITIVE = {"boolean", "int", "long", "float", "double", "bytes", "string"}


class Source(Protocol):
    """A file that is read from its beginning on."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, fewer only at the end."""


@dataclass
class AvroSource:
    """An Avro file behind its header; `at` is the next of its `size` bytes."""

    file: Source
    size: int
    at: int = 0
    schema: bytes = b""
    codec: str = "null"
    sync: bytes = b""

    def take(self, size: int) -> bytes:
        """The next bytes. Raises ValueError if the file has fewer."""
        if not 0 <= size <= self.size - self.at:
            raise ValueError(f"it claims {size} bytes where {self.size - self.at} are left")
        found = self.file.read(size)
        if len(found) != size:
            raise ValueError(f"expected {size} bytes, found {len(found)}")
        self.at += size
        return found

    def number(self) -> int:
        """The next number. Raises ValueError if there is not one of 64 bits."""
        found = shift = 0
        while shift < 64:
            (byte,) = self.take(1)
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (found >> 1) ^ -(found & 1)
            shift += 7
        raise ValueError("a number has more than 64 bits")


def opened(file: Source, size: int) -> AvroSource:
    """The file behind its header. Raises some exception if it is not an Avro file."""
    source = AvroSource(file, size)
    if source.take(min(size, len(_MAGIC))) != _MAGIC:
        raise ValueError("it does not begin as an Avro file")
    meta: dict[bytes, bytes] = {}
    while count := source.number():
        if count < 0:  # the bytes of the entries follow, which nobody needs
            count, _ = -count, source.number()
        for _ in range(count):
            key = source.take(source.number())
            meta[key] = source.take(source.number())
        if source.at > _MOST_OF_HEADER:
            raise ValueError(f"its header has more than {_MOST_OF_HEADER >> 20} MiB")
    source.schema = meta[b"avro.schema"]
    source.codec = meta.get(b"avro.codec", b"null").decode()
    source.sync = source.take(SYNC_BYTES)
    return source


def blocks(source: AvroSource, most: int) -> Iterator[tuple[int, bytes]]:
    """The number of records in each block, and their bytes, of at most `most`. Raises ValueError if
    they are not what the file claims.
    """
    while source.at < source.size:
        count, data = source.number(), source.take(source.number())
        part = _decompressed(source.codec, data, most + 1)
        if len(part) > most:
            raise ValueError(f"a block of it holds more than {most >> 20} MiB")
        if source.take(SYNC_BYTES) != source.sync or not 0 <= count <= len(part):
            raise ValueError(f"a block of {len(part)} bytes claims {count} records")
        yield count, part


def _decompressed(codec: str, data: bytes, most: int) -> bytes:
    if codec not in _CODECS:
        raise ValueError(f"its codec is {codec}, expected one of {', '.join(_CODECS)}")
    try:
        return _CODECS[codec](data, most)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, LookupError) as error:
        raise ValueError(f"a block can't be decompressed by {codec}: {error}") from error


def _zstandard(data: bytes, most: int) -> bytes:
    """The bytes, in pieces that grow: a buffer is as large as what it is asked for."""
    pieces, left, size = list[bytes](), most, _PIECE
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while left:
            piece = bytes(stream.read_buffer(min(size, left)))  # `read` loses memory where it fails
            pieces.append(piece)
            left, size = left - len(piece), 2 * size
            if not piece:
                break
    return b"".join(pieces)


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
    "xz": lambda data, most: lzma.LZMADecompressor(memlimit=_MOST_MEMORY).decompress(data, most),
}


def check_nested(schema: Any) -> None:
    """Raises ValueError if values of a schema nest without an end, or some have no bytes: any
    number of those fits anywhere.
    """
    _depth(schema, {})


def _depth(schema: Any, named: dict[str, int | None]) -> int:
    """The depth to which values nest. `named` has the types that are defined, None: not to the
    end.
    """
    if isinstance(schema, list):
        return max((_depth(one, named) for one in schema if one != "null"), default=0)
    if isinstance(schema, str):
        return 0 if schema in _PRIMITIVE else _referred(schema, named)
    kind = schema["type"]
    if kind in ("record", "fixed", "enum"):
        name = short_name(schema["name"])
        before = named.get(name) or 0
        named[name] = None
        found = _depth_of_named(kind, schema, named)
        named[name] = max(found, before)
    else:
        inner = schema.get("items", schema.get("values")) if kind in ("array", "map") else kind
        found = 1 + _depth(inner, named)
    if found > DEPTH:
        raise ValueError(f"its values nest deeper than {DEPTH} levels")
    return found


def _depth_of_named(kind: str, schema: Any, named: dict[str, int | None]) -> int:
    if kind == "record" and schema["fields"]:
        return 1 + max(_depth(field["type"], named) for field in schema["fields"])
    if kind == "record" or (kind == "fixed" and schema["size"] < 1):
        raise ValueError(f"values of type {schema['name']} have no bytes")
    return 0


def _referred(name: str, named: dict[str, int | None]) -> int:
    found = named.get(short_name(name))
    if found is None:
        raise ValueError(f"type {name} holds itself, or nothing, or is not known")
    return found


def short_name(name: str) -> str:
    """The name of a type without its namespace."""
    return name.rpartition(".")[2]
