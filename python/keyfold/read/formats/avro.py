"""One Avro file as record batches of columns, decoded by the block on the calling thread.

Paimon's Java library writes these files. They have no statistics, so the manifest's decide about
whole files.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from keyfold.files import damage
from keyfold.files.avro import data_files
from keyfold.files.avro.columns import columns_of
from keyfold.files.avro.program import names_of, program_of
from keyfold.files.column_mapping import StoredColumn
from keyfold.stores.avro_blocks import AvroSource
from keyfold.stores.files import Files
from keyfold.wire.specs import DataFile

_TOGETHER = 1 << 20  # bytes of blocks that are decoded at once


@dataclass(frozen=True)
class OpenAvro:
    """An open file, and the columns that it has."""

    path: str
    is_remote: bool
    source: AvroSource
    names: Sequence[str]

    def rows(self, found: Sequence[StoredColumn], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some blocks after another, each column in its stored type."""
        stored = {one.name: one.stored for one in found}
        with damage.decoding(self.path):
            program = program_of(self.source.schema, tuple(names))
            lacking = [name for name in names if name not in program.columns]
            if lacking:
                raise ValueError(f"its schema has no field {', '.join(lacking)}")
            types = {name: stored.get(name) for name in program.columns}
        parts = self._parts()
        while True:
            with damage.decoding(self.path, is_remote=self.is_remote):
                part = next(parts, None)
                if part is None:
                    return
                columns = columns_of(part[1], part[0], program, types)
            yield pa.RecordBatch.from_arrays(columns, names=list(program.columns))

    def _parts(self) -> Iterator[tuple[int, bytes]]:
        """Blocks, as many together as are decoded at once."""
        rows, held, size = 0, list[bytes](), 0
        for count, content in data_files.blocks(self.source):
            rows, size = rows + count, size + len(content)
            held.append(content)
            if size >= _TOGETHER:
                yield rows, b"".join(held)
                rows, held, size = 0, [], 0
        if rows:
            yield rows, b"".join(held)


def open_avro(store: Files, path: str, file: DataFile) -> OpenAvro:
    """The open file. Raises CorruptDataError if its records have no columns."""
    source = data_files.opened(store, path, file.size)
    with damage.decoding(path):
        names = names_of(source.schema)
    return OpenAvro(path, not store.is_local, source, names)
