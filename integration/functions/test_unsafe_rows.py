"""The bytes that the kernels make of columns are those that Spark itself makes of the same rows."""

from __future__ import annotations

from random import Random

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode
from tests.random_values import ATOMIC, same, value

PAIR = pa.struct([("a", pa.int32()), ("b", pa.utf8()), ("d", pa.decimal128(38, 3))])
KINDS = (
    *ATOMIC.values(),
    *(pa.list_(kind) for kind in ATOMIC.values()),
    PAIR,
    pa.list_(PAIR),
    pa.list_(pa.list_(pa.int16())),
    pa.map_(pa.utf8(), pa.struct([("x", pa.list_(pa.decimal128(30, 2)))])),
    *[pa.int8()] * 40,  # beyond 64 fields the NULLs take a second word
)


def test_rows_are_those_of_spark(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    columns = [pa.array([value(kind, random, 0.3) for _ in range(50)], kind) for kind in KINDS]
    names = [f"c{place}" for place in range(len(KINDS))]
    table = pa.table(columns, names=names)
    rows = spark.createDataFrame(table, from_arrow_schema(table.schema))
    plan = rows.repartition(1)._jdf.queryExecution().executedPlan()
    theirs = [bytes(row.getBytes()) for row in plan.executeCollect()]
    ours = encode(columns)
    assert sorted(ours.to_pylist()) == sorted(theirs)
    for found, column in zip(decode(ours, KINDS), columns, strict=True):
        assert same(found.to_pylist(), column.to_pylist())
