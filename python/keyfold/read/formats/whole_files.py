"""Files of formats without row groups that a plan could leave out: every row of a file that is
opened is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from keyfold.files import damage
from keyfold.files.column_mapping import StoredColumn, sources
from keyfold.files.vectors import deleted
from keyfold.read.formats.table_columns import adapted, common_number, schema_of
from keyfold.read.formats.wanted import Wanted
from keyfold.read.positions import numbered, without
from keyfold.stores.files import Files
from keyfold.wire.specs import KIND, SEQUENCE, DataFile, ScanSpec


class WholeFile(Protocol):
    """An open file, and the columns that it has."""

    @property
    def names(self) -> Sequence[str]:
        """The names of all its columns."""

    def rows(self, found: Sequence[StoredColumn], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, in these columns of it, each in the type that is stored."""


Opening = Callable[[Files, str, DataFile], WholeFile]


def read_whole(
    scan: ScanSpec, store: Files, path: str, file: DataFile, wanted: Wanted, opening: Opening
) -> Iterator[pa.RecordBatch]:
    """Batches as `read_file` describes them. Whether rows are -U or -D is read of every file that
    has kinds.
    """
    source = opening(store, path, file)
    # Columns are decoded whole: fields of structs stand where they are in the whole type.
    found = [
        replace(one, stored=one.whole or one.stored, whole=None)
        for one in sources(scan, file.schema_id, wanted.columns)
    ]
    number = common_number(file)
    kinds = [KIND] if wanted.kinds or KIND in source.names else []
    system = [*([SEQUENCE] if wanted.sequence else []), *kinds]
    names = [one.name for one in found if one.stored is not None]
    names += [name for name in system if name != SEQUENCE or number is None]
    rows = _counted(path, file.rows, source.rows(found, names or source.names[:1]))
    schema = schema_of(found, system)
    batches = (adapted(batch, found, schema, number) for batch in _pieces(rows, wanted))
    placed = numbered(batches, [file.rows], [0]) if wanted.positions else batches
    gone = deleted(store, scan.layout, path, file)
    yield from without(gone, placed, [file.rows], [0]) if len(gone) else placed


def _counted(path: str, count: int, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows. Raises CorruptDataError if they are more or fewer than expected."""
    left = count
    for batch in rows:
        left -= batch.num_rows
        if left < 0:
            raise damage.data_file(path, f"expected {count} rows, found {-left} more")
        yield batch
    if left:
        raise damage.data_file(path, f"{left} of its {count} rows are missing")


def _pieces(rows: Iterator[pa.RecordBatch], wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most the wanted rows and bytes."""
    for batch in rows:
        width = max(batch.nbytes / max(batch.num_rows, 1), 1.0)
        size = max(1, min(wanted.batch_rows, int(wanted.batch_bytes / width)))
        for start in range(0, batch.num_rows, size):
            yield batch.slice(start, size)
