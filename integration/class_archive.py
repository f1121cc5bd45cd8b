"""The classes of Spark as Java maps them into memory, by which the sessions of tests start in half
of the time. Java passes over the file if it is of other jars or of another Java.

`python -m integration.class_archive` writes it, after a session that uses what sessions use.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from integration import sessions


def write() -> None:
    """Write the file anew."""
    sessions.CLASSES.parent.mkdir(exist_ok=True)
    sessions.CLASSES.unlink(missing_ok=True)
    written = f"-XX:ArchiveClassesAtExit={sessions.CLASSES} -Xlog:disable"
    options = f"{sessions.QUICK} {sessions.LOGGING} {written}"
    with tempfile.TemporaryDirectory() as folder:
        extra = {"spark__driver__extraJavaOptions": options}
        spark = sessions.builder(Path(folder), **extra).getOrCreate()
        spark.range(100).selectExpr("id", "id % 7 AS g").write.parquet(f"{folder}/rows")
        rows = spark.read.parquet(f"{folder}/rows")
        rows.join(rows.distinct(), "id").groupBy("id").count().orderBy("id").collect()
        jvm = spark.sparkContext._gateway.proc
        spark.stop()
        jvm.stdin.close()
        jvm.wait()  # it writes the file as it ends


if __name__ == "__main__":
    write()
