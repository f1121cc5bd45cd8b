"""A table of many files in Iceberg, as `many_files_of_others` asks for it, in Iceberg's own Spark.

python -m integration.bench.many_files_in_iceberg FOLDER FILES EXPECTED
Its Java library appends entries of files that do not exist, in one commit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from integration.bench import iceberg
from integration.bench.cases import full
from integration.bench.processor_time import measured

NAME = "iceberg.bench.many"


def filled(spark: SparkSession, folder: Path, files: int, of_partition: int, names: Any) -> str:
    """A table of so many files; where it is."""
    columns = ", ".join(f"{name} BIGINT" for name in names)
    spark.sql(f"CREATE TABLE {NAME} ({columns}) USING iceberg PARTITIONED BY ({names[0]})")
    path, jvm = str(folder / "iceberg" / "bench" / "many"), _packages(spark)
    table, draw = _load(spark, path), Random(7)
    append, metrics = table.newFastAppend(), _metrics(spark, len(names))
    for number in range(files):
        partition = number // of_partition
        name = f"{path}/data/{names[0]}={partition}/{draw.getrandbits(128):032x}.parquet"
        file = jvm.DataFiles.builder(table.spec()).withPath(name).withMetrics(metrics)
        file = file.withFileSizeInBytes(draw.randrange(1, 1 << 26))
        file = file.withRecordCount(10).withPartitionPath(f"{names[0]}={partition}")
        append.appendFile(file.build())
    append.commit()
    return path


def _packages(spark: SparkSession) -> Any:
    assert spark._jvm is not None
    return spark._jvm.org.apache.iceberg


def _load(spark: SparkSession, path: str) -> Any:
    configuration = spark._jsc.hadoopConfiguration()
    return _packages(spark).hadoop.HadoopTables(configuration).load(path)


def _metrics(spark: SparkSession, columns: int) -> Any:
    """Statistics of each column."""
    java, bounds = spark._jvm, _packages(spark).types
    assert java is not None
    kind = bounds.Types.LongType.get()
    low, high = (bounds.Conversions.toByteBuffer(kind, value) for value in (1 << 33, 1 << 40))
    lows, highs = java.java.util.HashMap(), java.java.util.HashMap()
    for number in range(2, columns + 1):  # not of the partition
        lows.put(number, low)
        highs.put(number, high)
    return _packages(spark).Metrics(None, None, None, None, None, lows, highs)


def main(folder: Path, files: int, expected: dict[str, Any]) -> None:
    """Print the seconds of processor of each step as JSON."""
    with iceberg.start(full(folder)) as session:
        spark, names = session.spark, expected["columns"]
        spark.range(10).count()
        path = filled(spark, folder, files, expected["of_partition"], names)
        jvm = _packages(spark)
        count = jvm.relocated.com.google.common.collect.Iterables.size
        row = spark.sql("SELECT " + ", ".join(f"-1L AS {name}" for name in names))

        def planned(condition: Any) -> int:
            return int(count(_load(spark, path).newScan().filter(condition).planFiles()))

        half = files // expected["of_partition"] // 2
        one = jvm.expressions.Expressions.equal(names[0], half)
        every = jvm.expressions.Expressions.alwaysTrue()
        steps = (lambda: planned(one), lambda: planned(every), lambda: row.writeTo(NAME).append())
        counts = dict(zip(expected["steps"], (expected["of_partition"], files), strict=False))
        assert spark._jvm is not None
        process = int(spark._jvm.java.lang.ProcessHandle.current().pid())
        print(
            json.dumps(measured(process, dict(zip(expected["steps"], steps, strict=True)), counts))
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]))
