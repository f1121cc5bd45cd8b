"""VARIANT columns: from Python and back as two binaries, kept by functions, and what is refused."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import keyfold
from keyfold import KeyfoldError
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import variant

ONE = {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}
TWO = {"value": b"\x0c\x02", "metadata": b"\x01\x00\x00"}


def test_values_come_back(tmp_path: Path) -> None:
    columns = {"k": "INT", "last": "VARIANT", "first": "VARIANT", "several": "ARRAY<VARIANT>"}
    functions = {"last": "last_non_null_value", "first": "first_value"}
    options = {f"fields.{name}.aggregate-function": of for name, of in functions.items()}
    catalog = keyfold.connect(tmp_path, threads=1)
    table = catalog.create_table(
        "t", columns, ["k"], options={**options, "merge-engine": "aggregation", "bucket": 1}
    )
    table.upsert([{"k": 1, "last": ONE, "first": ONE, "several": [ONE, None]}, {"k": 2}])
    table.upsert([{"k": 1, "last": TWO, "first": TWO}])
    table.upsert([{"k": 1}])
    expected = {"k": 1, "last": TWO, "first": ONE, "several": [ONE, None]}
    assert table.get({"k": 1}) == expected
    assert table.compact()["status"].to_pylist() == ["committed"]
    assert table.get({"k": 1}) == expected
    assert table.scan(where="last IS NULL").to_arrow()["k"].to_pylist() == [2]
    assert table.scan().schema.field("last").type == to_arrow(variant())
    (path, *_) = sorted(tmp_path.rglob("bucket-0/*.parquet"))
    schema = pq.ParquetFile(path).schema
    leaves = {schema.column(place).path for place in range(len(schema))}
    assert {"last.value", "last.metadata"} <= leaves


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"primary_key": ["v"]}, "key column v must be of an atomic type, it is VARIANT"),
        ({"primary_key": ["k", "v"], "partitions": ["v"]}, "key column v .* VARIANT"),
        ({"options": {"sequence.field": "v"}}, "sequence.field.*v"),
        ({"options": {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"}}, "max"),
    ],
)
def test_refusals(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    catalog = keyfold.connect(tmp_path, threads=1)
    with pytest.raises(KeyfoldError, match=message):
        catalog.create_table("t", {"k": "INT", "v": "VARIANT"}, **{"primary_key": ["k"]} | given)
