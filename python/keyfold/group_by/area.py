"""Rows that the JVM writes into memory which it shares with its worker: the same file, mapped by
both, so that no row crosses a socket.

The file has a few slots of equal form, each with room for one batch. A column has a place for one
byte per row that says whether it is there, written only if one is NULL, and one for its values: of
fixed width, or bytes behind the ends of each value. What is read of a slot is good until the JVM is
told that it may fill it again.
"""

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Mask, is_text, ones, pack
from keyfold.kernels.unsafe_rows.layout import column_of_bits, unsigned


@dataclass(frozen=True)
class ColumnSlot:
    """The place of a column in a slot. `width`: bytes of a value, 0 if values vary in length."""

    valid: int
    ends: int
    data: int
    width: int


@dataclass(frozen=True)
class Area:
    """The file, mapped, and the places of its columns."""

    memory: Any  # bytes, as numpy sees them
    slot: int
    places: Sequence[ColumnSlot]

    @staticmethod
    def of(found: Mapping[str, Any]) -> "Area":
        """Map the file that the JVM has made; nothing is held by its name any more."""
        path = Path(found["path"])
        with path.open("r+b") as file:
            mapped = mmap.mmap(file.fileno(), 0)
        memory = np.frombuffer(mapped, dtype=np.uint8)
        return Area(memory, int(found["slot"]), [ColumnSlot(*place) for place in found["places"]])

    def batch(self, frame: Mapping[str, Any]) -> "Batch":
        """The rows in a slot."""
        first = self.slot * int(frame["slot"])
        part = self.memory[first : first + self.slot]
        return Batch(part, self.places, int(frame["rows"]), frozenset(frame["nulls"]))


@dataclass(frozen=True)
class Batch:
    """The rows in one slot; `nulls` are the columns in which some are NULL."""

    memory: Any
    places: Sequence[ColumnSlot]
    rows: int
    nulls: frozenset[int]

    def column(self, number: int, kind: pa.DataType, *, copied: bool = False) -> pa.Array:
        """A column, of this type; good for longer than the batch if it is copied."""
        place = self.places[number]
        if not place.width:
            return self._texts(number, kind, copied)
        items = self._part(place.data, place.width).view(unsigned(place.width))
        return column_of_bits(kind, items.copy() if copied else items, self._valid(number))

    def flags(self, number: int) -> Any:
        """A column of booleans, none NULL."""
        return self._part(self.places[number].data, 1).view(bool)

    def _texts(self, number: int, kind: pa.DataType, copied: bool) -> pa.Array:
        place = self.places[number]
        assert is_text(kind)
        ends = self._part(place.ends, 4).view(np.int32)
        bounds = np.concatenate((np.zeros(1, dtype=np.int32), ends))
        data = self.memory[place.data : place.data + int(bounds[-1])]
        own = pa.py_buffer(data.copy() if copied else data)
        held = [pack(self._valid(number)), pa.py_buffer(bounds), own]
        return pa.Array.from_buffers(kind, self.rows, held)

    def _valid(self, number: int) -> Mask:
        return self._part(self.places[number].valid, 1) if number in self.nulls else ones(self.rows)

    def _part(self, start: int, width: int) -> Any:
        return self.memory[start : start + width * self.rows]
