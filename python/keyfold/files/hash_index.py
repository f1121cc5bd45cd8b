"""Index files of buckets whose keys are assigned (`bucket` = -1): the hash of each key that the
bucket holds, or has held, as 32 bits, big-endian, in no order (Paimon's `HashIndexFile`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyfold.files import damage
from keyfold.stores.files import Files
from keyfold.wire.layout import TableLayout

Hashes = npt.NDArray[np.int32]
_STORED = np.dtype(">i4")


def hash_path(layout: TableLayout, name: str) -> str:
    """The path of an index file."""
    return f"{layout.location}/index/{name}"


def read_hashes(files: Files, path: str, rows: int) -> Hashes:
    """The first `rows` hashes of an index file. Raises CorruptDataError if it has fewer."""
    with damage.present(path):
        data = files.read(path)
    if len(data) < rows * _STORED.itemsize:
        raise damage.metadata_file("index file", path, f"{len(data)} bytes, expected {4 * rows}")
    return np.frombuffer(data, _STORED, rows).astype(np.int32)


def encoded(hashes: Hashes) -> bytes:
    """The bytes of an index file."""
    return hashes.astype(_STORED).tobytes()
