"""How the columns of a data file are encoded.

Measured on 2 M rows of seven mixed columns, one core: whole numbers as DELTA_BINARY_PACKED decode
at 30 M rows/s against 20 M/s for PLAIN and 17 M/s for pyarrow's default of a dictionary for all,
and the file is a tenth smaller; readers of Paimon since 1.1, of Spark, Trino and pypaimon know it.
Text gets a dictionary only where a sample repeats itself: a dictionary that is given up again
costs half the write.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.options import TableOptions

_SAMPLE = 4096
_INT64_DIGITS = 18


def writer_settings(options: TableOptions, schema: pa.Schema, first: pa.Table) -> dict[str, Any]:
    """Arguments of ParquetWriter for a file whose first rows are `first`."""
    repeated = [
        field.name for field in schema if _is_text(field.type) and _repeats(first[field.name])
    ]
    delta = {field.name: "DELTA_BINARY_PACKED" for field in schema if _is_whole(field.type)}
    level = options.zstd_level if options.file_compression == "zstd" else None
    return {
        "compression": options.file_compression,
        "compression_level": level,
        "use_dictionary": repeated or False,
        "column_encoding": delta,
        "store_decimal_as_integer": True,
        "store_schema": False,
        "data_page_version": "1.0",
        "write_statistics": True,
    }


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_binary(data_type))


def _is_whole(data_type: pa.DataType) -> bool:
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision <= _INT64_DIGITS)
    return bool(
        pa.types.is_signed_integer(data_type)
        or pa.types.is_date32(data_type)
        or pa.types.is_timestamp(data_type)
    )


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a sample of the column has each value about four times or more."""
    step = max(1, len(column) // _SAMPLE)
    sample = column.take(pa.array(range(0, len(column), step), pa.int64()))
    return bool(pc.count_distinct(sample).as_py() * 4 <= len(sample))
