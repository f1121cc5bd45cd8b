"""A MERGE whose source is a Delta table, in a Spark with both.

    python -m integration.rows.delta_source FOLDER

prints one line of JSON: the rows, and what the plan does with the target.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from integration import sessions
from integration.fetched import fetched
from integration.keyed import create_keyed

MERGE = """
MERGE INTO keyfold.it.t AS t USING {source} AS s ON t.k = s.k
WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *
"""


def main(folder: Path) -> None:
    jars = sorted(fetched("delta", "delta-spark_*.jar").glob("*.jar"))
    spark = sessions.start(
        folder,
        **sessions.INTERPRETED,
        spark__jars=",".join(map(str, jars)),
        spark__sql__extensions="io.delta.sql.DeltaSparkSessionExtension",
        spark__sql__catalog__spark_catalog="org.apache.spark.sql.delta.catalog.DeltaCatalog",
    )
    source = f"delta.`{folder / 'source'}`"
    spark.sql(f"CREATE TABLE {source} USING delta AS SELECT * FROM VALUES (2, 20), (3, 30) s(k, v)")
    spark.sql("CREATE NAMESPACE keyfold.it")
    create_keyed(spark, "keyfold.it.t", "k INT, v INT")
    spark.sql("INSERT INTO keyfold.it.t VALUES (1, 1), (2, 2)")
    plan = str(spark.sql(f"EXPLAIN {MERGE.format(source=source)}").collect()[0][0])
    spark.sql(MERGE.format(source=source))
    rows = [list(row) for row in spark.sql("SELECT * FROM keyfold.it.t ORDER BY k").collect()]
    scans = bool(re.search(r"BatchScan keyfold\.it\.t\b", plan))
    print(json.dumps({"rows": rows, "scans": scans}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
