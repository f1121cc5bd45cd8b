"""numpy views of Arrow buffers, in the few shapes kernels are compiled for.

Views are C-contiguous and typed as writable (a read-only array would be one more compiled
signature), but no code writes to them. Arrays without nulls share an array of ones as validity.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Signs = npt.NDArray[np.int8]
Floats = npt.NDArray[Any]


class _Ones:
    """One growing array of ones, shared by everything that has no nulls."""

    mask: Mask = np.ones(1 << 16, dtype=np.uint8)


def ones(length: int) -> Mask:
    """`length` uint8 ones. The array is shared: do not write to it."""
    if length > len(_Ones.mask):
        _Ones.mask = np.ones(max(length, 2 * len(_Ones.mask)), dtype=np.uint8)
    return _Ones.mask[:length]


class _Memory:
    """Keeps a buffer alive under a numpy array that is typed as writable."""

    def __init__(self, buffer: pa.Buffer, length: int, offset: int, kind: str) -> None:
        self.buffer = buffer
        self.__array_interface__ = {
            "shape": (length,),
            "typestr": kind,
            "data": (buffer.address + offset, False),
            "version": 3,
        }


def view(buffer: pa.Buffer | None, dtype: Any, start: int, length: int) -> npt.NDArray[Any]:
    """`length` items of `dtype` from item `start` of an Arrow buffer."""
    kind = np.dtype(dtype)
    if buffer is None or length == 0:
        return np.empty(0, dtype=kind)
    return np.asarray(_Memory(buffer, length, start * kind.itemsize, kind.str))


def bytes_of(buffer: pa.Buffer) -> Mask:
    """The bytes of a buffer."""
    return view(buffer, np.uint8, 0, buffer.size)


def values(array: pa.Array, dtype: Any) -> npt.NDArray[Any]:
    """The fixed-width values of an array, viewed as `dtype` of the same width. Null slots hold
    any value.
    """
    return view(array.buffers()[1], dtype, array.offset, len(array))


def bits(buffer: pa.Buffer, start: int, length: int) -> Mask:
    """uint8 0 or 1 for each bit of an Arrow bitmap."""
    first = start // 8
    packed = view(buffer, np.uint8, first, (start + length + 7) // 8 - first)
    return np.unpackbits(packed, count=start % 8 + length, bitorder="little")[start % 8 :]


def validity(array: pa.Array) -> Mask:
    """uint8 1 for each value of the array, 0 for each null."""
    if array.null_count == 0:
        return ones(len(array))
    return np.ascontiguousarray(bits(array.buffers()[0], array.offset, len(array)))


def pack(mask: Mask) -> pa.Buffer | None:
    """The Arrow validity bitmap of a mask; None if nothing is null."""
    if mask.all():
        return None
    return pa.py_buffer(np.packbits(mask, bitorder="little"))


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are strings of bytes."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    )


def text(array: pa.Array) -> tuple[Rows, Mask]:
    """int64 offsets and the bytes of a string or binary array, whose offsets have 32 or 64 bits."""
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    buffers = array.buffers()
    kind = np.int64 if is_large else np.int32
    offsets = view(buffers[1], kind, array.offset, len(array) + 1)
    if not len(array):
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    last = int(offsets[-1])
    return offsets.astype(np.int64), view(buffers[2], np.uint8, 0, last)


def dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """numpy's type for integers or floats; pyarrow's own function for this would load pandas."""
    return np.dtype(f"{'f' if pa.types.is_floating(kind) else 'i'}{kind.bit_width // 8}")


def column_of(kind: pa.DataType, items: npt.NDArray[Any], valid: Mask) -> pa.Array:
    """The array of fixed-width items, null where `valid` is 0."""
    return pa.Array.from_buffers(kind, len(valid), [pack(valid), pa.py_buffer(items)])
