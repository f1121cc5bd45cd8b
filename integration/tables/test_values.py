"""Random values of all types: an INSERT of Spark stores what Python stores of the same values."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import keyfold
from tests.stored_values import TYPES, Refused, column, shown, stored

ROWS, COLUMNS = 12, 40


def fitting(values: list[Any], kind: Any) -> list[Any]:
    """The values, with NULL for those that Python refuses: Spark rounds or cuts some of them."""
    found = []
    for value in values:
        try:
            stored(value, kind)
            found.append(value)
        except Refused:
            found.append(None)
    return found


def test_spark_stores_the_same(spark: SparkSession, warehouse: Path, seed: int) -> None:
    random, types, arrays = Random(seed), {"k": "INT"}, {"k": pa.array(range(ROWS), pa.int32())}
    while len(types) <= COLUMNS:
        sql, kind = random.choice(TYPES)
        array = pa.array(fitting(column(kind, ROWS, random, wrong=0), kind))
        # Spark has maps of its own, and neither columns without a type nor more than 38 digits
        if not sql.startswith("MAP") and not {"null", "decimal256"} & {*_words(array.type)}:
            name = f"c{len(types)}"
            types[name], arrays[name] = sql, array
    rows = pa.table(arrays)
    catalog = keyfold.connect(warehouse, threads=1)
    catalog.create_namespace("values")
    by_python, by_spark = (catalog.create_table(f"values.{n}", types, ["k"]) for n in "ps")
    by_python.upsert(rows)
    spark.createDataFrame(rows).createOrReplaceTempView("given")
    spark.sql("INSERT INTO keyfold.values.s BY NAME SELECT * FROM given")
    stores = (by_spark, by_python)
    wanted, found = (sorted(t.scan().to_pylist(), key=lambda row: row["k"]) for t in stores)
    for name, sql in types.items():
        pairs = zip(wanted, found, arrays[name], strict=True)
        for spark_row, row, given in pairs:
            assert shown(row[name]) == shown(spark_row[name]), (sql, arrays[name].type, given)


def _words(kind: pa.DataType) -> list[str]:
    return str(kind).replace("(", " ").replace("<", " ").replace(">", " ").replace(",", " ").split()
