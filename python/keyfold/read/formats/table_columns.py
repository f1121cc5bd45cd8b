"""From the columns that are read of a data file to those of the table, whatever the format."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import NotSupportedError
from keyfold.files.column_mapping import StoredColumn, adapt, missing
from keyfold.merge.marks.mark_columns import FIELDS as MARKS
from keyfold.wire.specs import KIND, NAMED, SEQUENCE, DataFile

SYSTEM = (pa.field(SEQUENCE, pa.int64(), False), pa.field(KIND, pa.int8(), False), *MARKS)


def schema_of(found: Sequence[StoredColumn], system: Sequence[str]) -> pa.Schema:
    fields = [source.target.arrow_field for source in found]
    own = {field.name: field for field in SYSTEM}
    return pa.schema([*fields, *(own[name] for name in system)])


def common_number(file: DataFile) -> int | None:
    """The sequence number of every row, if the manifest gives only one. It counts even if the file
    has another (a file that was stamped with its snapshot).
    """
    return file.min_sequence if file.min_sequence == file.max_sequence else None


def adapted(
    batch: pa.RecordBatch, found: Sequence[StoredColumn], schema: pa.Schema, number: int | None
) -> pa.RecordBatch:
    arrays = [_array(batch, source) for source in found]
    for field in list(schema)[len(found) :]:
        if field.name == SEQUENCE and number is not None:
            arrays.append(pa.array(np.full(batch.num_rows, number, dtype=np.int64)))
        elif field.name == NAMED:
            arrays.append(_with_given(batch.column(NAMED).cast(field.type), found))
        else:
            arrays.append(batch.column(field.name).cast(field.type))
    if not arrays:
        return batch.select([])
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _with_given(texts: pa.Array, found: Sequence[StoredColumn]) -> pa.Array:
    """The columns that records name, and those that gave them a DEFAULT when they were added."""
    ids = [str(one.target.id) for one in found if one.stored is None and one.target.initial]
    return pc.binary_join_element_wise(texts, *ids, ",") if ids else texts


def _array(batch: pa.RecordBatch, source: StoredColumn) -> pa.Array:
    if source.stored is None:
        return missing(source, batch.num_rows)
    try:
        return adapt(batch.column(source.name), source.stored, source.target.type)
    except NotSupportedError as error:
        raise NotSupportedError(f"column {source.target.name}: {error}") from error
