"""keyfold reads and merges what Paimon's Java library wrote and compacted; Java reads it again."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from pyroaring import BitMap, BitMap64

from integration.paimon.bench import Bench, decoded, hll, sql, theta
from integration.paimon.library import row
from keyfold.kernels.roaring import bitmaps


def test_jobs_of_both_take_turns(bench: Bench) -> None:
    """Each commit of either merges manifests of both."""
    columns = "k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED"
    bench.create(columns, bucket="2", manifest__merge_min_count="2")
    keys = [f"key {n}" for n in range(12)]
    for turn in range(0, 4, 2):
        bench.paimon.write(bench.folder, [row("+I", key, turn) for key in keys[turn:]])
        bench.insert(f"SELECT concat('key ', id), {turn + 1} FROM range({turn + 1}, 12)")
        found = {r["k"]: r["v"] for r in bench.agree(rows=12)}
        assert found["key 11"] == turn + 1
    bench.paimon.compact(bench.folder)
    assert set(bench.paimon.read(bench.folder).levels) == {5}
    found = {r["k"]: r["v"] for r in bench.agree(rows=12)}
    bench.insert("VALUES ('key 0', 100), ('new', 101)")
    bench.paimon.write(bench.folder, [row("-D", "key 3", None), row("+I", "key 4", 102)])
    changed = {r["k"]: r["v"] for r in bench.agree(rows=12)}
    del found["key 3"]
    assert changed == {**found, "key 0": 100, "new": 101, "key 4": 102}


def test_java_keeps_ids(bench: Bench) -> None:
    """Ids that we gave are read, and kept by a compaction of Java's; keys go on finding them."""
    columns = "k STRING, id BIGINT, v INT, PRIMARY KEY (k) NOT ENFORCED"
    bench.create(columns, bucket="2", write_only="true", auto_increment__fields="id")

    def written(start: int, stop: int, value: int) -> dict[str, int]:
        source = f"SELECT concat('key ', id), {value} FROM range({start}, {stop})"
        bench.spark.sql(f"INSERT INTO {bench.name} (k, v) {source}")
        rows = bench.agree(rows=stop)
        assert all(row["v"] == value for row in rows if int(row["k"][4:]) >= start)
        return {row["k"]: row["id"] for row in rows}

    first = written(0, 10, 1)
    second = written(5, 15, 2)
    assert first.items() <= second.items()
    assert len(set(second.values())) == 15
    bench.paimon.compact(bench.folder)
    assert set(bench.paimon.read(bench.folder).levels) == {5}
    assert {row["k"]: row["id"] for row in bench.agree(rows=15)} == second
    third = written(0, 20, 3)
    assert second.items() <= third.items()
    assert len(set(third.values())) == 20


@pytest.mark.usefixtures("has_times")
def test_java_s_values_of_each_type(bench: Bench) -> None:
    kinds = "BOOLEAN, SMALLINT, FLOAT, DECIMAL(38, 10), BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ"
    kinds += ", TIME(3)"
    nested = "ARRAY<INT>; MAP<STRING, DECIMAL(4, 2)>; STRUCT<x: INT, y: ARRAY<STRING>>"
    listed = [*kinds.replace("38, 10", "38,10").split(", "), *nested.split("; ")]
    columns = ", ".join(f"c{n} {kind}" for n, kind in enumerate(listed))
    bench.create(f"k BIGINT, {columns}, PRIMARY KEY (k) NOT ENFORCED")
    moment = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)
    values = [True, -7, float("-inf"), Decimal("-1.0000000001"), b"\x00\xff", dt.date(1, 1, 1)]
    values += [moment, dt.datetime(2024, 1, 2), dt.time(23, 59, 59, 999_000)]
    values += [[1, None], [["k", Decimal("9.99")]], [1, ["ü"]]]
    nulls = [None for _ in values]
    bench.paimon.write(bench.folder, [row("+I", 2, *values), row("+I", 1, *nulls)])
    bench.paimon.write(bench.folder, [row("+I", 3, *values), row("+I", 1, *values)])
    bench.paimon.compact(bench.folder)
    bench.insert(f"SELECT 3, {', '.join(f'c{n}' for n in range(12))} FROM {bench.name} WHERE k = 2")
    bench.insert(f"VALUES (4, {', '.join('NULL' for _ in values)})")
    assert bench.agree(rows=4)[0]["c3"] in (None, Decimal("-1.0000000001"))


def test_java_s_states_are_merged_with_ours(bench: Bench) -> None:
    functions = ("rbm32", "rbm64", "hll_sketch", "theta_sketch")
    bench.made(
        "k INT, c0 BINARY, c1 BINARY, c2 BINARY, c3 BINARY, PRIMARY KEY (k) NOT ENFORCED",
        {
            "merge-engine": "aggregation",
            **{f"fields.c{n}.aggregate-function": name for n, name in enumerate(functions)},
        },
    )
    wide = [7, 1 << 40, *range(70_000, 75_000)]
    for numbers in (range(100), range(50, 400)):
        cells = [{"rbm32": list(numbers)}, {"rbm64": wide}]
        cells += [{"hll_sketch": list(numbers)}, {"theta_sketch": list(numbers)}]
        bench.paimon.write(bench.folder, [row("+I", 1, *cells), row("+I", 1, *cells)])
    bench.paimon.compact(bench.folder)
    assert bench.paimon.read(bench.folder).levels == [5]
    bits = (sql(bitmaps.write32(BitMap([1000]))), sql(bitmaps.write64(BitMap64([9]))))
    bench.insert(
        f"SELECT 1, {', '.join(bits)}, "
        "hll_sketch_agg(CAST(id AS INT)), theta_sketch_agg(CAST(id AS INT)) FROM range(1000, 1100)"
    )
    ours = bench.spark.table(bench.name).collect()[0]
    theirs = bench.paimon.read(bench.folder).rows[0]
    for cells in ([bytes(cell) for cell in ours[1:]], [decoded(cell) for cell in theirs[1:]]):
        assert set(bitmaps.read64(cells[0])) == {*range(400), 1000}
        assert set(bitmaps.read64(cells[1])) == {9, *wide}
        assert hll(cells[2]) == pytest.approx(500, rel=0.05)
        assert theta(cells[3]) == pytest.approx(500, rel=0.05)
