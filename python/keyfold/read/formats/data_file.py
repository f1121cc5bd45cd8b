"""The one place where a data file is opened for its rows: its name tells its format."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from keyfold.files import orc
from keyfold.files.avro import data_files as avro
from keyfold.merge.deferred import Deferred
from keyfold.merge.marks.mark_columns import with_marks
from keyfold.read.formats.avro import open_avro
from keyfold.read.formats.orc import open_orc
from keyfold.read.formats.parquet import read_parquet
from keyfold.read.formats.wanted import Wanted
from keyfold.read.formats.whole_files import Opening, read_whole
from keyfold.stores.files import Files
from keyfold.wire.specs import DataFile, ScanSpec

_WHOLE: dict[str, Opening] = {orc.SUFFIX: open_orc, avro.SUFFIX: open_avro}


def read_file(
    scan: ScanSpec, store: Files, directory: str, file: DataFile, wanted: Wanted
) -> Iterator[pa.RecordBatch | Deferred]:
    """Batches of `wanted.columns` in table types, then `_SEQUENCE_NUMBER` if wanted, then
    `_VALUE_KIND` (int8) if the file may hold -U or -D, then `_NAMED` and `_OVERWRITTEN` if it has
    them, without the rows that the file's deletion vector marks. If `wanted.decide` is given, only
    its columns are decoded at first, where the format lets them be.
    """
    path = f"{directory}/{file.name}"
    opening = next((make for end, make in _WHOLE.items() if file.name.endswith(end)), None)
    if opening is None:
        batches = read_parquet(scan, store, path, file, wanted)
    else:
        batches = read_whole(scan, store, path, file, wanted, opening)
    for batch in batches:
        yield with_marks(batch) if wanted.marks else batch
