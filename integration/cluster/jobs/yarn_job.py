"""A job in PySpark for YARN: writes rows that add up, and leaves the sum.

spark.job.answer says where the answer goes, spark.job.rows and spark.job.keys how many there are.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import keyfold


def main() -> None:
    """Fold and ask."""
    spark = keyfold.configure(SparkSession.builder.appName("a job on YARN")).getOrCreate()
    answer, rows = Path(spark.conf.get("spark.job.answer")), int(spark.conf.get("spark.job.rows"))
    keys = spark.conf.get("spark.job.keys")
    spark.sql(
        "CREATE TABLE keyfold.default.counts (k BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
        "TBLPROPERTIES ('bucket' = '2', 'merge-engine' = 'aggregation', "
        "'fields.n.aggregate-function' = 'sum')"
    )
    for number in range(2):
        answer.with_suffix(f".{number}").touch()
        spark.sql(f"INSERT INTO keyfold.default.counts SELECT id % {keys}, 1 FROM range({rows})")
    (found,) = spark.sql("SELECT count(*), sum(n) FROM keyfold.default.counts").collect()
    answer.write_text(f"{found[0]} {found[1]}")
    spark.stop()


if __name__ == "__main__":
    main()
