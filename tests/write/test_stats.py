"""Statistics of a data file: the range of a column over all its row groups, if each has one."""

import io
from math import nan

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keyfold.files.leaves import leaves_of
from keyfold.write.stats import MinMax, collect


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ([[2.0, 1.0], [3.0, None]], (1.0, 3.0, 1)),
        ([[2.0, 1.0], [None, None]], (1.0, 2.0, 2)),
        # The writer says no range where all values are NaN, which is greater than any other.
        ([[2.0, 1.0], [nan, None]], (None, None, 1)),
        ([[nan, nan], [2.0, 1.0]], (None, None, 0)),
    ],
)
def test_a_range_covers_every_row_group(
    groups: list[list[float | None]], found: tuple[float | None, float | None, int]
) -> None:
    schema, file = pa.schema([("v", pa.float64())]), io.BytesIO()
    with pq.ParquetWriter(file, schema) as writer:
        for values in groups:
            writer.write_table(pa.table({"v": pa.array(values, pa.float64())}))
    metadata = pq.read_metadata(file)
    assert metadata.num_row_groups == len(groups)
    assert collect(metadata, leaves_of(metadata), schema, ["v"]) == [MinMax(*found, pa.float64())]
