"""The classes of Spark as Java maps them into memory, by which the sessions of tests start in half
of the time. Java passes over the file if it is of other jars or of another Java.

`python -m integration.class_archive` writes it, after a session that uses what sessions use.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from integration import sessions

STATEMENTS = """
CREATE NAMESPACE keyfold.a;
CREATE TABLE keyfold.a.t (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO keyfold.a.t SELECT id, CAST(id AS STRING) FROM range(100);
SELECT v, count(*), row_number() OVER (ORDER BY v) FROM keyfold.a.t WHERE id > 7 GROUP BY v;
MERGE INTO keyfold.a.t USING (SELECT 1L AS id) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = concat(t.v, 'x') WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);
UPDATE keyfold.a.t SET v = 'y' WHERE id < 5;
DELETE FROM keyfold.a.t WHERE v = 'y';
DESCRIBE TABLE EXTENDED keyfold.a.t;
CALL keyfold.sys.compact(table => 'a.t')
"""


def write() -> None:
    """Write the file anew."""
    sessions.CLASSES.parent.mkdir(exist_ok=True)
    sessions.CLASSES.unlink(missing_ok=True)
    written = f"-XX:ArchiveClassesAtExit={sessions.CLASSES} -Xlog:disable"
    options = f"{sessions.QUICK} {sessions.LOGGING} {written}"
    with tempfile.TemporaryDirectory() as folder:
        spark = sessions.start(Path(folder), spark__driver__extraJavaOptions=options)
        use(spark, Path(folder))
        jvm = spark.sparkContext._gateway.proc
        spark.stop()
        jvm.stdin.close()
        jvm.wait()  # it writes the file as it ends


def use(spark: SparkSession, folder: Path) -> None:
    """Statements, files, a join and a stream."""
    for statement in STATEMENTS.split(";"):
        spark.sql(statement).collect()
    spark.table("keyfold.a.t").write.parquet(f"{folder}/rows")
    rows = spark.read.parquet(f"{folder}/rows")
    rows.join(rows.select("id").distinct(), "id").groupBy("v").count().orderBy("v").collect()
    stream = spark.readStream.table("keyfold.a.t").writeStream.format("noop")
    stream = stream.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    stream.start().awaitTermination()


if __name__ == "__main__":
    write()
