"""What the client of the JVM costs beside Python's calls: seconds of processor time, all processes
together, for the same rows and keys on the same table. `python -m integration.client.speed`
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import keyfold
from integration import sessions
from integration.docs.scala_block import call, compile_scala
from integration.faults.harness import jvm_of
from integration.faults.processes import TICKS, descendants
from integration.keyed import create_keyed

ROWS, KEYS = 1_000_000, 2_000
HEAD = """
import keyfold.client.KeyfoldTable
import org.apache.spark.sql.{Row, SparkSession}
import scala.jdk.CollectionConverters._
val table = KeyfoldTable.open(SparkSession.active, "keyfold.s.t")
"""
WRITE = """
val writer = table.newUpsert().createWriter()
var i = 0
while (i < %d) { writer.upsert(Row(i.toLong, i.toLong, "a text " + i)); i += 1 }
writer.close()
"""
ONE = """
val lookuper = table.newLookup().createLookuper()
(0 until %d).foreach(i => lookuper.lookup(Row(i * 13L)))
lookuper.close()
"""
MANY = """
val lookuper = table.newLookup().createLookuper()
lookuper.lookup((0 until 100000).map(i => Row(i * 7L)).asJava)
lookuper.close()
"""


def of_process(pid: int) -> float:
    """The processor seconds of a process and of its children that have ended."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, words[11:15])) / TICKS


def spent(pids: Callable[[], set[int]], work: Callable[[], object]) -> float:
    """The processor seconds of work that processes do, those included that begin with it."""
    before = {pid: of_process(pid) for pid in pids()}
    work()
    return sum(of_process(pid) - before.get(pid, 0.0) for pid in pids())


def compared(spark: SparkSession, folder: Path) -> None:
    """Print a line for each thing that is done."""
    spark.sql("CREATE NAMESPACE keyfold.s")
    create_keyed(spark, "keyfold.s.t", "k BIGINT, n BIGINT, s STRING", bucket=2)
    table = keyfold.connect(folder / "warehouse", threads=2).table("s.t")
    jvm = jvm_of(spark)
    texts = pa.array([f"a text {i}" for i in range(ROWS)])
    rows = pa.table({"k": range(ROWS), "n": range(ROWS), "s": texts})
    keys = pa.table({"k": pa.array(range(0, 700_000, 7), pa.int64())})
    cases: list[tuple[str, int, str, Callable[[], object]]] = [
        ("upsert of Python's dictionaries", ROWS, WRITE, lambda: table.upsert(rows.to_pylist())),
        ("upsert of Python's Arrow", ROWS, WRITE, lambda: table.upsert(rows)),
        ("get", KEYS, ONE, lambda: [table.get({"k": i * 13}) for i in range(KEYS)]),
        ("get_many", 100_000, MANY, lambda: table.get_many(keys)),
    ]
    for name, count, lines, by_python in cases:
        place = Path(tempfile.mkdtemp(dir=folder))
        compile_scala({"Block": HEAD + (lines % count if "%d" in lines else lines)}, place)
        for _ in range(2):  # the second time everything is compiled
            of_client = spent(lambda: {jvm, *descendants(jvm)}, partial(call, spark, place))
            own = spent(lambda: {os.getpid()}, by_python)
        ratio = of_client / own
        print(f"{name}: {count / own:.0f} a second; the client takes {ratio:.2f} times as much")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        session = sessions.start(Path(made))
        compared(session, Path(made))
        session.stop()
