"""Opaque states and Spark's own libraries: RoaringBitmap, DataSketches and the functions built on
them read ours, and ours theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from pyroaring import BitMap, BitMap64
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from integration.keyed import create_keyed
from keyfold.aggregates import quantile_union
from keyfold.kernels.roaring import bitmaps
from tests.quantiles import percent

FreshName = Callable[[], str]
AGGREGATES = (("hll_sketch_agg", "h"), ("theta_sketch_agg", "t"))


@pytest.fixture(scope="module")
def random(seed: int) -> Random:
    return Random(seed)


def numbers(random: Random, bits: int) -> BitMap64:
    """Single numbers, a dense or a full range, and keys that differ in one byte."""
    found = BitMap64(random.getrandbits(random.choice((bits, bits // 2))) for _ in range(30))
    start = random.getrandbits(bits - 2)
    step = random.choice((1, 3, 1000))
    found |= BitMap64(range(start, start + step * random.choice((1, 5000, 20_000)), step))
    shift, start = random.randrange(16, max(17, bits - 8)), random.getrandbits(bits - 10)
    found |= BitMap64(start + (n << shift) for n in range(random.choice((3, 16, 48, 200))))
    return found & BitMap64(range(1 << bits)) if bits < 40 else found


def deserialized(jvm: Any, name: str, state: bytes) -> Any:
    package = jvm.org.roaringbitmap
    made = getattr(package if name == "RoaringBitmap" else package.longlong, name)()
    made.deserialize(jvm.java.io.DataInputStream(jvm.java.io.ByteArrayInputStream(state)))
    return made


def serialized(jvm: Any, bitmap: Any) -> bytes:
    bitmap.runOptimize()
    out = jvm.java.io.ByteArrayOutputStream()
    bitmap.serialize(jvm.java.io.DataOutputStream(out))
    return bytes(out.toByteArray())


def signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def test_java_s_roaring64bitmap_reads_ours_and_writes_the_same(
    spark: SparkSession, random: Random
) -> None:
    """`equals` looks every key of a bitmap that Java built anew up in the tree that we wrote."""
    jvm: Any = spark._jvm
    for bits in (20, 33, 40, 64) * 8:
        bitmap = numbers(random, bits)
        state = bitmaps.write64(bitmap)
        found = deserialized(jvm, "Roaring64Bitmap", state)
        assert found.getLongCardinality() == len(bitmap)
        anew = jvm.org.roaringbitmap.longlong.Roaring64Bitmap()
        getattr(anew, "or")(found)
        assert anew.equals(found)
        assert serialized(jvm, anew) == state
        for number in (bitmap.min(), bitmap.max(), random.getrandbits(bits)):
            assert found.contains(signed(number)) == (number in bitmap)


def test_unions_of_java_and_ours_are_the_same_sets(spark: SparkSession, random: Random) -> None:
    jvm: Any = spark._jvm
    for bits in (20, 33, 64) * 4:
        left, right = numbers(random, bits), numbers(random, bits)
        java = deserialized(jvm, "Roaring64Bitmap", bitmaps.write64(left))
        getattr(java, "or")(deserialized(jvm, "Roaring64Bitmap", bitmaps.write64(right)))
        assert bitmaps.read64(serialized(jvm, java)) == left | right


def test_java_s_roaringbitmap_reads_ours_and_writes_the_same(
    spark: SparkSession, random: Random
) -> None:
    jvm: Any = spark._jvm
    for _ in range(16):
        bitmap = BitMap(numbers(random, 31))
        state = bitmaps.write32(bitmap)
        found = deserialized(jvm, "RoaringBitmap", state)
        assert found.getLongCardinality() == len(bitmap)
        assert bitmaps.read32(serialized(jvm, found)) == bitmap


def test_java_s_t_digest_reads_ours(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    state = quantile_union.written(2048, np.arange(5000.0))
    memory = jvm.org.apache.datasketches.memory.Memory.wrap(state[4:])
    found = jvm.org.apache.datasketches.tdigest.TDigestDouble.heapify(memory)
    assert (found.getK(), found.getTotalWeight()) == (2048, 5000)
    for q in (0.0, 0.1, 0.5, 0.999, 1.0):
        assert found.getQuantile(q) == pytest.approx(percent(state, q), rel=1e-9)


def create(spark: SparkSession, name: str, columns: dict[str, str]) -> None:
    """An aggregation table of BINARY columns with these functions."""
    stored = ", ".join(f"{column} BINARY" for column in columns)
    create_keyed(spark, name, f"k INT, {stored}", merge_engine="aggregation", folds=columns)


def test_spark_s_sketch_functions_fill_and_read_such_columns(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    name = fresh_name()
    create(spark, name, {"h": "hll_sketch", "t": "theta_sketch"})

    def sketches(first: int, stop: int) -> DataFrame:
        return (
            spark.range(first, stop)
            .selectExpr("CAST(id % 2 AS INT) AS k", "id")
            .groupBy("k")
            .agg(*(expr(f"{function}(id)").alias(column) for function, column in AGGREGATES))
        )

    for first, stop in ((0, 3000), (2000, 4000), (0, 4)):
        sketches(first, stop).writeTo(name).append()
    estimated = spark.sql(
        f"SELECT hll_sketch_estimate(h) AS h, theta_sketch_estimate(t) AS t FROM {name}"
    ).collect()
    assert len(estimated) == 2
    for row in estimated:
        assert (row.h, row.t) == (pytest.approx(2000, rel=0.05), 2000)
    sketches(4000, 5000).createOrReplaceTempView("more")
    united = spark.sql(
        "SELECT hll_sketch_estimate(hll_union(a.h, b.h)) AS h, "
        f"theta_sketch_estimate(theta_union(a.t, b.t)) AS t FROM {name} a JOIN more b USING (k)"
    ).collect()
    assert [(pytest.approx(2500, rel=0.05), 2500)] * 2 == [(row.h, row.t) for row in united]


def test_bitmaps_of_any_form_are_stored_in_the_column_s(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    name = fresh_name()
    create(spark, name, {"a": "rbm32", "b": "BITMAP_UNION"})
    wide = BitMap64([1, 70_000])
    states = [bitmaps.write64(wide), wide.serialize(), BitMap([5]).serialize(), None]
    for state in states:
        rows = [(1, state, state), (2, state, None)]
        spark.createDataFrame(rows, "k INT, a BINARY, b BINARY").writeTo(name).append()
    first, second = spark.table(name).orderBy("k").collect()
    assert set(bitmaps.read32(bytes(first.a))) == {1, 5, 70_000}
    assert bitmaps.form(bytes(first.a)) == bitmaps.PORTABLE32
    assert bitmaps.form(bytes(first.b)) == bitmaps.JAVA
    assert set(bitmaps.read64(bytes(first.b))) == {1, 5, 70_000}
    assert second.b is None
    with pytest.raises(Exception, match=rf"column a, key \(k = 7\).*it holds {2**40}, expected"):
        spark.createDataFrame(
            [(7, BitMap64([2**40]).serialize(), None)], "k INT, a BINARY, b BINARY"
        ).writeTo(name).append()


LIST_OF_255 = bytes((2, 1, 7, 12, 3, 8, 255, 0)) + bytes(4 * 255)


def test_bad_bytes_are_refused_by_every_door(spark: SparkSession, fresh_name: FreshName) -> None:
    name, empty = fresh_name(), "CAST(NULL AS BINARY)"
    create(spark, name, {"a": "rbm32", "b": "rbm64", "h": "hll_sketch"})
    spark.sql(f"INSERT INTO {name} VALUES (1, {empty}, {empty}, hll_hash(1))")
    spark.createDataFrame([(1, LIST_OF_255)], "n INT, bad BINARY").createOrReplaceTempView("bad")
    source = f"USING bad ON {name}.k = bad.n"
    for door in (
        f"INSERT INTO {name} SELECT n, NULL, NULL, bad FROM bad",
        f"INSERT INTO {name} SELECT n, NULL, bad, NULL FROM bad",
        f"INSERT INTO {name} (k, a) SELECT n, bad FROM bad",
        f"MERGE INTO {name} {source} WHEN MATCHED THEN UPDATE SET h = bad.bad",
        f"MERGE INTO {name} {source} AND k = 2 WHEN NOT MATCHED THEN INSERT (k, h) VALUES (n, bad)",
        f"UPDATE {name} SET h = X'{LIST_OF_255.hex()}' WHERE k = 1",
    ):
        words = r"column [abh], key \(k = 1\): Unable to deserialize"
        with pytest.raises(Exception, match=words):
            spark.sql(door)
    assert spark.sql(f"SELECT hll_cardinality(h) FROM {name}").collect() == [(1,)]


def one(number: int) -> bytes:
    return bitmaps.write64(BitMap64([number]))
