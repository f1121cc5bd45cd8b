"""A program of a Spark Connect client: tables by SQL and by DataFrame, a function of its own.

    python connect_job.py sc://HOST:PORT

Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import keyfold


@keyfold.aggregate.pick("STRING")
def longest(best: str, value: str) -> bool:
    """The longest text."""
    return len(value) > len(best)


def main() -> None:
    """Make, fill and read two tables."""
    spark = keyfold.configure(SparkSession.builder.remote(sys.argv[1])).getOrCreate()
    spark.sql("CREATE NAMESPACE keyfold.c")
    spark.sql(
        "CREATE TABLE keyfold.c.sums (k INT, n BIGINT, note STRING, PRIMARY KEY (k) NOT ENFORCED) "
        "TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum')"
    )
    spark.sql("INSERT INTO keyfold.c.sums VALUES (1, 5, 'first'), (2, 7, 'other')")
    spark.createDataFrame([(1, 4)], "k INT, n BIGINT").writeTo("keyfold.c.sums").append()
    spark.conf.set("spark.keyfold.txnAppId", "job")
    spark.conf.set("spark.keyfold.txnVersion", "7")
    for _ in range(2):  # the second time changes nothing
        spark.sql("INSERT INTO keyfold.c.sums (k, n) VALUES (2, 1)")
    spark.conf.set("spark.keyfold.txnVersion", "8")
    for _ in range(2):
        spark.sql(
            "MERGE INTO keyfold.c.sums t USING (SELECT 2 k, 10L n) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET n = t.n + s.n"
        )
    spark.conf.unset("spark.keyfold.txnAppId")
    spark.conf.unset("spark.keyfold.txnVersion")
    keyfold.register(spark, longest)
    spark.sql(
        "CREATE TABLE keyfold.c.labels (k INT, label STRING, PRIMARY KEY (k) NOT ENFORCED) "
        "TBLPROPERTIES ('merge-engine' = 'aggregation', "
        "'fields.label.aggregate-function' = 'longest')"
    )
    spark.sql("INSERT INTO keyfold.c.labels VALUES (1, 'M4'), (1, 'M4 x 20'), (1, '?')")
    steps = spark.sql("CALL keyfold.sys.compact('c.sums')").collect()
    print(
        json.dumps(
            {
                "sums": [list(row) for row in spark.table("keyfold.c.sums").orderBy("k").collect()],
                "labels": [list(row) for row in spark.table("keyfold.c.labels").collect()],
                "statuses": sorted({step.status for step in steps}),
                "class": type(spark).__module__,
                "python": spark.conf.get("spark.keyfold.session.python", ""),
            }
        )
    )
    spark.stop()


if __name__ == "__main__":
    main()
