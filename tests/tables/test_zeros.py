"""Keys of FLOAT and DOUBLE: -0.0 and 0.0 are two keys, as in Paimon; NaN is one."""

import math
import struct
from pathlib import Path

import pytest

import keyfold


def bits(value: float) -> bytes:
    return struct.pack(">d", value)


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE"])
def test_zeros_are_two_keys(tmp_path: Path, kind: str) -> None:
    options = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "bucket": "1"}
    table = keyfold.connect(tmp_path, threads=1).create_table(
        "t", {"k": kind, "n": "INT"}, ["k"], options=options | {"write-only": "true"}
    )
    for n in (1, 10):
        table.upsert([{"k": k, "n": n} for k in (0.0, -0.0, math.nan, 1.5)])
    for _ in range(2):
        found = {bits(row["k"]): row["n"] for row in table.scan().to_pylist()}
        assert found == {bits(k): 11 for k in (0.0, -0.0, math.nan, 1.5)}
        assert [row["n"] for row in table.get_many([{"k": 0.0}, {"k": -0.0}]).to_pylist()] == [
            11,
            11,
        ]
        table.compact()
    table.delete([{"k": -0.0}])
    assert table.get({"k": -0.0}) is None
    assert table.get({"k": 0.0}) == {"k": 0.0, "n": 11}
