"""Rows reach the bucket that their hash names, in their order, whatever the partitions are."""

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from keyfold.files.buckets import grouped, split
from keyfold.kernels.keys.hash import bucket_hash
from keyfold.options.parsing import parse
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout
from tests.read import harness

EPOCH = datetime.date(1970, 1, 1)
COLUMNS = (("p", "STRING NOT NULL"), ("q", "DATE NOT NULL"), ("k", "INT NOT NULL"), ("n", "INT"))


def layout(buckets: int) -> TableLayout:
    made = tuple(Column(i, n, paimon_types.from_paimon(t)) for i, (n, t) in enumerate(COLUMNS))
    options = {"bucket": str(buckets)}
    return TableLayout("db.t", "/t", 0, made, ("p", "q", "k"), ("p", "q"), options)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 50)), min_size=1),
    st.sampled_from([1, 3]),
)
def test_every_row_goes_to_its_bucket(drawn: list[tuple[str, int, int]], buckets: int) -> None:
    found = layout(buckets)
    rows = [{"p": p, "q": q, "k": k, "n": n} for n, (p, q, k) in enumerate(drawn)]
    (batch,) = harness.batches(found, rows, size=10_000)
    parts = list(split(found, parse(found), batch))
    assert sum(part.num_rows for _, part in parts) == len(rows)
    assert len({place for place, _ in parts}) == len(parts)
    hashes = dict(zip(range(len(rows)), bucket_hash([batch.column("k")]).tolist(), strict=True))
    for place, part in parts:
        numbers = part.column("n").to_pylist()
        assert numbers == sorted(numbers)
        for row in part.to_pylist():
            assert place.partition == (row["p"], (row["q"] - EPOCH).days)
            assert place.bucket == abs(hashes[row["n"]]) % buckets


def test_a_batch_of_one_bucket_is_passed_on_as_it_is() -> None:
    found = layout(1)
    rows = [{"p": "a", "q": 1, "k": k, "n": k} for k in range(5)]
    (batch,) = harness.batches(found, rows)
    ((_, part),) = split(found, parse(found), batch)
    assert part is batch


def test_short_timestamps_hash_as_milliseconds(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "TIMESTAMP(3) NOT NULL"), bucket="1000")
    micros = pa.array([1704067200001000], pa.int64()).cast(pa.timestamp("us"))
    batch = pa.RecordBatch.from_arrays([micros], schema=found.arrow_schema)
    ((place, _),) = split(found, parse(found), batch)
    assert place.bucket == 1330967621 % 1000


def test_groups_of_wide_codes() -> None:
    codes = np.array([5, 1 << 40, 5, -3], dtype=np.int64)
    assert [rows.tolist() for rows in grouped(codes) if rows is not None] == [[3], [0, 2], [1]]
