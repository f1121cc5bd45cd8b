"""What docs/interop.md says that Paimon's Java library reads otherwise, tried: a difference that is
gone is to be taken out there.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

import keyfold
from integration.paimon.bench import Bench, sql
from integration.paimon.library import Paimon, row
from keyfold.kernels.roaring import bitmaps
from tests.option_names import option_names

FIRST = "array(named_struct('id', 1, 'v', 'x'), named_struct('id', 1, 'v', 'y'))"


def folding(bench: Bench, columns: str, **functions: str) -> Bench:
    options = option_names(functions)
    options |= {"merge-engine": "aggregation", "write-only": "true", "bucket": "1"}
    return bench.made(f"k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED", options)


def ours(bench: Bench, column: str) -> list[Any]:
    return [row[column] for row in bench.spark.table(bench.name).orderBy("k").collect()]


def theirs(bench: Bench) -> list[Any]:
    """What Java reads, cells as its harness sends them, by key."""
    return sorted((cells for _, *cells in bench.paimon.read(bench.folder).rows), key=repr)


@pytest.mark.parametrize("function", ["nested_update", "nested_partial_update"])
def test_the_first_array_of_a_nested_table_is_folded(bench: Bench, function: str) -> None:
    columns = "a ARRAY<STRUCT<id: INT, v: STRING>>"
    named = {"fields.a.aggregate-function": function, "fields.a.nested-key": "id"}
    folding(bench, columns, **named).insert(f"VALUES (1, {FIRST})", "VALUES (1, NULL)")
    assert [[tuple(item) for item in found] for found in ours(bench, "a")] == [[(1, "y")]]
    assert len(theirs(bench)[0][-1]) == 2


def test_distinct_elements_stand_in_another_order(bench: Bench) -> None:
    named = {"fields.a.aggregate-function": "collect", "fields.a.distinct": "true"}
    folding(bench, "a ARRAY<INT>", **named)
    bench.insert("VALUES (1, array(100, 7))", "VALUES (1, array(3, 65, 7))")
    assert ours(bench, "a") == [[100, 7, 3, 65]]
    assert bench.agree(rows=1, free=["a"])
    with pytest.raises(AssertionError):
        bench.agree(rows=1)


def test_bitmaps_of_the_same_numbers_have_other_bytes(bench: Bench) -> None:
    folding(bench, "b BINARY", **{"fields.b.aggregate-function": "rbm64"})
    for numbers in [1 << 20, 5 << 40], [1, 2 << 16, 3 << 40]:
        bench.insert(f"VALUES (1, {sql(bitmaps.write64(BitMap64(numbers)))})")
    (found,) = ours(bench, "b")
    assert set(bitmaps.read64(bytes(found))) == {1, 2 << 16, 1 << 20, 3 << 40, 5 << 40}
    with pytest.raises(AssertionError):
        bench.agree(rows=1)


def test_an_older_sequence_after_a_delete(bench: Bench) -> None:
    """DELETE writes a -D with the stored sequence, which stays and hides what is older."""
    options = {"sequence.field": "s", "write-only": "true", "bucket": "1"}
    bench.made("k INT, s INT, PRIMARY KEY (k) NOT ENFORCED", options)
    bench.insert("VALUES (1, 5), (2, 5)")
    bench.spark.sql(f"DELETE FROM {bench.name} WHERE k = 1")
    bench.paimon.write(bench.folder, [row("-D", 2, 5)])
    bench.insert("VALUES (1, 3), (2, 3)")
    assert bench.agree(rows=0) == []


def test_overwriting_with_deletes(bench: Bench) -> None:
    options = {"rowkind.field": "op", "write-only": "true", "bucket": "1"}
    bench.made("k INT, op STRING, PRIMARY KEY (k) NOT ENFORCED", options)
    bench.insert("VALUES (1, '+I'), (2, '+I')")
    bench.spark.sql(f"INSERT OVERWRITE {bench.name} VALUES (1, '-D'), (3, '+I')")
    assert [r["k"] for r in bench.agree(rows=1)] == [3]
    bench.paimon.write(bench.folder, [row("-D", 3, "-D"), row("+I", 4, "+I")], overwrite=True)
    assert [r["k"] for r in bench.agree(rows=1)] == [4]


def test_nan_and_zeros_as_keys(paimon: Paimon, tmp_path: Path) -> None:
    """Java merges keys that we keep apart, where they are in several runs."""
    options = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "bucket": "1"}
    catalog = keyfold.connect(tmp_path, threads=1)
    for name, first, second in (("zeros", -0.0, 0.0), ("numbers", 1.5, math.nan)):
        table = catalog.create_table(
            name, {"k": "DOUBLE", "n": "INT"}, ["k"], options=options | {"write-only": "true"}
        )
        for key in (first, second):
            table.upsert([{"k": key, "n": 1}])
        folder = tmp_path / "default.db" / name
        assert [str(row["k"]) for row in table.scan().to_pylist()] == [str(first), str(second)]
        assert [row[1] for row in paimon.read(folder).rows] == [2]
        table.compact()  # of one run it reads each row
        assert [row[1] for row in paimon.read(folder).rows] == [1, 1]
