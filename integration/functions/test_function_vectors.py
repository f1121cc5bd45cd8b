"""The SQL functions and Python read each other's bytes: the vectors that Python is held to, sets of
random shapes, and bytes that are broken in one place.
"""

from __future__ import annotations

import base64
import json
import math
import random
from typing import Any

import numpy as np
import pytest
from pyroaring import BitMap, BitMap64
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration import TOP
from keyfold.aggregates import quantile_union
from keyfold.aggregates.sketches import opened_hll
from keyfold.kernels.roaring import bitmaps
from tests.quantiles import percent

pytestmark = pytest.mark.usefixtures("interpreted")
VECTORS = TOP / "tests" / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text("ascii"))
    for vector in found:
        vector["bytes"] = bytearray(base64.b64decode(vector["bytes"]))
    return found


def numbers(vector: dict[str, Any]) -> list[int]:
    """Its progressions (first, count, step), united."""
    runs = (range(int(a), int(a) + n * step, step) for a, n, step in vector["values"])
    return sorted({number % 2**64 for run in runs for number in run})


def listed(values: list[int]) -> str:
    return ",".join(map(str, values))


def asked(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str, *what: str) -> list[Any]:
    """The expressions over the rows, in the rows' order."""
    placed = [(place, *row) for place, row in enumerate(rows)]
    frame = spark.createDataFrame(placed, f"place INT, {schema}").repartition(2)
    return frame.orderBy("place").selectExpr(*what).collect()


def test_bitmaps_that_java_wrote(spark: SparkSession) -> None:
    found = vectors("rbm32") + vectors("rbm64")
    read = ("keyfold.bitmap_count(b)", "bitmap_to_string(b)", "bitmap_or(b, bitmap_empty())")
    rows = asked(spark, [(vector["bytes"],) for vector in found], "b BINARY", *read)
    for vector, (count, text, written) in zip(found, rows, strict=True):
        assert (count, text) == (vector["cardinality"], listed(numbers(vector))), vector["name"]
        if vector["canonical"] and vector["form"] != "portable 64-bit":
            assert written == vector["bytes"], vector["name"]
        assert set(bitmaps.read64(bytes(written))) == set(numbers(vector)), vector["name"]


def test_bitmaps_that_sql_wrote(spark: SparkSession) -> None:
    """Built number by number: the bytes that Java wrote, read by Python in all its ways."""
    narrow, wide = vectors("rbm32"), vectors("rbm64")
    texts = [(listed(numbers(vector)),) for vector in narrow + wide]
    write = ("bitmap_from_string(s)", "bitmap_or(to_bitmap64(NULL), bitmap_from_string(s))")
    for vector, (natural, widened) in zip(
        narrow + wide, asked(spark, texts, "s STRING", *write), strict=True
    ):
        expected = numbers(vector)
        assert sorted(bitmaps.read64(bytes(natural))) == expected, vector["name"]
        assert sorted(bitmaps.read64(bytes(widened))) == expected, vector["name"]
        if expected and expected[-1] < 2**32:
            assert sorted(BitMap.deserialize(bytes(natural))) == expected, vector["name"]


def shape(source: random.Random) -> set[int]:
    """Runs, multiples and scattered numbers, of few or many high halves."""
    made: set[int] = set()
    for _ in range(source.randrange(4)):
        bits = source.choice((6, 17, 31, 33, 49, 64))
        step = source.choice((1, 1, 2, 3, 1 << 16, 1 << 33))
        first, count = source.getrandbits(bits), source.choice((1, 5, 300, 5000))
        made |= {(first + i * step) % 2**64 for i in range(count)}
    return made


def written(source: random.Random, values: set[int]) -> bytes:
    """In one of the three forms."""
    forms = [bitmaps.write64(BitMap64(values)), BitMap64(values).serialize()]
    if max(values, default=0) < 2**32:
        forms.append(bitmaps.write32(BitMap(values)))
    return bytes(source.choice(forms))


def test_algebra_of_random_sets(spark: SparkSession) -> None:
    source = random.Random(41)
    sets = [(shape(source), shape(source), shape(source)) for _ in range(60)]
    rows = [tuple(bytearray(written(source, one)) for one in three) for three in sets]
    calls = ("bitmap_or(a, b, c)", "bitmap_and(a, b)", "bitmap_xor(a, b, c)", "bitmap_not(a, b)")
    found = asked(
        spark,
        rows,
        "a BINARY, b BINARY, c BINARY",
        *(f"bitmap_to_string(bitmap_or({call}, bitmap_empty()))" for call in calls),
        "bitmap_has_any(a, b)",
        "bitmap_has_all(a, b)",
        "bitmap_or_count(a, b)",
    )
    for (a, b, c), row in zip(sets, found, strict=True):
        expected = [a | b | c, a & b, a ^ b ^ c, a - b]
        assert list(row[:4]) == [listed(sorted(one)) for one in expected]
        assert tuple(row[4:]) == (bool(a & b), a >= b, len(a | b))


def test_aggregates_of_random_sets(spark: SparkSession) -> None:
    source = random.Random(42)
    sets = [shape(source) | {7} for _ in range(40)]
    rows = [(place % 5, bytearray(written(source, one))) for place, one in enumerate(sets)]
    frame = spark.createDataFrame(rows, "g INT, b BINARY").repartition(3)
    calls = ("bitmap_union", "bitmap_intersect", "rb_xor_agg")
    texts = [F.expr(f"bitmap_to_string(keyfold.{name}(b))") for name in calls]
    found = frame.groupBy("g").agg(*texts)
    for group, united, shared, odd in found.collect():
        own = [one for place, one in enumerate(sets) if place % 5 == group]
        assert united == listed(sorted(set.union(*own)))
        assert shared == listed(sorted(set.intersection(*own)))
        expected: set[int] = set()
        for one in own:
            expected ^= one
        assert odd == listed(sorted(expected))


def test_broken_bytes_are_named_or_read(spark: SparkSession) -> None:
    """A byte changed or the end cut off: another set, or an error that says so; never another."""
    source = random.Random(43)
    reader = spark._jvm.keyfold.spark.functions.BitmapBytes
    refused = 0
    for _ in range(400):
        data = bytearray(written(source, set(list(shape(source))[:40]) | {1, 2**16}))
        if source.random() < 0.3:
            del data[source.randrange(len(data)) :]
        else:
            data[source.randrange(len(data))] ^= 1 << source.randrange(8)
        try:
            reader.read(bytes(data), "f").toBytes()
        except SparkRuntimeException as error:
            refused += "function f: not a bitmap" in str(error)
    assert refused > 200


def test_hll_both_ways(spark: SparkSession) -> None:
    found = vectors("hll")
    read = ("hll_cardinality(h)", "hll_sketch_estimate(h)")
    rows = asked(spark, [(vector["bytes"],) for vector in found], "h BINARY", *read)
    for vector, row in zip(found, rows, strict=True):
        assert tuple(row) == (round(vector["estimate"]), round(vector["estimate"]))
    for vector in found:
        if vector["name"] == "HLL_4 compact, lgK 12":
            first, count = vector["first"], vector["count"]
            sql = (
                f"SELECT keyfold.hll_union(hll_hash(id)) FROM range({first}, {first + count}, 1, 3)"
            )
            made = bytes(spark.sql(sql).collect()[0][0])
            assert opened_hll(made).get_estimate() == pytest.approx(vector["estimate"], rel=0.05)
            assert count > 20 or in_order(made, count) == in_order(vector["bytes"], count)


def in_order(sketch: bytes, count: int) -> tuple[bytes, list[int]]:
    """The head of a sketch of few values and its coupons, whose order is free."""
    head = len(sketch) - 4 * count
    return sketch[:head], np.sort(np.frombuffer(sketch, np.uint32, offset=head)).tolist()


def test_quantiles_both_ways(spark: SparkSession) -> None:
    for vector in vectors("quantile"):
        literal = f"X'{vector['bytes'].hex()}'"
        for rank, expected in vector["quantiles"]:
            sql = f"SELECT quantile_percent({literal}, CAST({rank} AS DOUBLE))"
            assert spark.sql(sql).collect()[0][0] == pytest.approx(expected)
        value = f"{vector['first']}D + id * {vector['step']}D"
        state = f"quantile_union(to_quantile_state({value}, {vector['compression']}))"
        sql = f"SELECT {state} FROM range(0, {vector['count']}, 1, 2)"
        made = bytes(spark.sql(sql).collect()[0][0])
        assert quantile_union.opened(made).compression == max(
            2048, vector["compression"] if vector["count"] else 0
        )
        for rank, expected in vector["quantiles"]:
            assert percent(made, rank) == pytest.approx(expected, rel=1e-3, abs=0.5)
        assert vector["quantiles"] or math.isnan(percent(made, 0.5))
