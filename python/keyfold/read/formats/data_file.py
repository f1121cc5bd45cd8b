"""The one place where a data file is opened for its rows: its name tells its format."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from keyfold.files import orc
from keyfold.merge.deferred import Deferred
from keyfold.merge.marks.mark_columns import with_marks
from keyfold.read.formats.orc import read_orc
from keyfold.read.formats.parquet import read_parquet
from keyfold.read.formats.wanted import Wanted
from keyfold.stores.files import Files
from keyfold.wire.specs import DataFile, ScanSpec


def read_file(
    scan: ScanSpec, store: Files, directory: str, file: DataFile, wanted: Wanted
) -> Iterator[pa.RecordBatch | Deferred]:
    """Batches of `wanted.columns` in table types, then `_SEQUENCE_NUMBER` if wanted, then
    `_VALUE_KIND` (int8) if the file may hold -U or -D, then `_NAMED` and `_OVERWRITTEN` if it has
    them, without the rows that the file's deletion vector marks. If `wanted.decide` is given, only
    its columns are decoded at first, where the format lets them be.
    """
    read = read_orc if file.name.endswith(orc.SUFFIX) else read_parquet
    for batch in read(scan, store, f"{directory}/{file.name}", file, wanted):
        yield with_marks(batch) if wanted.marks else batch
