"""The indexes of a data file that is being written: the Bloom filters of the columns that the table
asks for, in the form of Paimon's index files.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.files.indexes.file_indexes import BLOOM_KIND, MAGIC, VERSION, Parts, java_bytes
from keyfold.kernels.buffers import Rows, Words, is_text, text, validity, values
from keyfold.kernels.filters import hash_numbers, hash_texts, set_bits
from keyfold.options.columns.bloom_filters import BloomFilterSize


class Making:
    """The filters of a file that gets rows."""

    def __init__(self, sizes: Mapping[str, BloomFilterSize]) -> None:
        self._sizes = sizes
        self._bits = {name: np.zeros(size.bits // 8, np.uint8) for name, size in sizes.items()}

    def add(self, rows: pa.Table) -> None:
        """Take rows, with the columns of the file."""
        for name, size in self._sizes.items():
            for column in rows[name].chunks:
                set_bits(hashes(column), validity(column), size.probes, self._bits[name])

    def index(self) -> bytes:
        """The index, as Paimon stores it."""
        return index_bytes(self.parts)

    @property
    def parts(self) -> Parts:
        """The filters."""
        return {
            name: {BLOOM_KIND: struct.pack(">i", size.probes) + self._bits[name].tobytes()}
            for name, size in self._sizes.items()
        }


def index_bytes(parts: Parts, mark: bytes = b"") -> bytes:
    """The bytes of an index of these parts. The mark is in its head, where readers pass it over."""
    names = {text: java_bytes(text) for name, kinds in parts.items() for text in (name, *kinds)}
    heads = [
        len(names[name]) + 4 + sum(len(names[k]) + 8 for k in kinds)
        for name, kinds in parts.items()
    ]
    at = 24 + sum(heads) + len(mark)
    head, bodies = [struct.pack(">qiii", MAGIC, VERSION, at, len(parts))], []
    for name, kinds in parts.items():
        head += [names[name], struct.pack(">i", len(kinds))]
        for kind, body in kinds.items():
            head += [names[kind], struct.pack(">ii", at, len(body))]
            bodies.append(body)
            at += len(body)
    return b"".join((*head, struct.pack(">i", len(mark)), mark, *bodies))


def hashes(column: pa.Array) -> Words:
    """The hash of each value of a column as it is stored; those of NULLs are any."""
    out = np.empty(len(column), np.uint64)
    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    if is_text(column.type):
        hash_texts(*text(column), out)
    else:
        hash_numbers(_numbers(column), out)
    return out


def _numbers(column: pa.Array) -> Rows:
    """The values as the whole numbers that are hashed: of floating ones their bits, as Java has
    them, where all that are not a number are alike.
    """
    kind = column.type
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), kind), column)
    width: Any = np.int32 if kind.bit_width == 32 else np.int64
    if pa.types.is_integer(kind):
        width = np.dtype(f"i{kind.bit_width // 8}")
    return np.ascontiguousarray(values(column, width), dtype=np.int64)
