"""Lines of Scala, compiled and run in the JVM of a session."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from integration.faults.processes import DEADLINE
from integration.paimon.library import SPARK_JARS, START
from keyfold.setup.session import jar_path

WRAPPED = """
object {name} {{
  def run(): String = {{
    val printed = new java.io.ByteArrayOutputStream
    Console.withOut(printed)(body())
    printed.toString("UTF-8")
  }}
  private def body(): Unit = {{
{lines}
  }}
}}
"""


def compile_scala(blocks: Mapping[str, str], folder: Path) -> None:
    """The lines of each block as the class of its name in a folder; a compiler's error fails."""
    source = folder / "Blocks.scala"
    made = [WRAPPED.format(name=name, lines=lines) for name, lines in blocks.items()]
    source.write_text("".join(made))
    command = [
        *START,
        "-Xss8m",
        "-cp",
        f"{SPARK_JARS}/*:{jar_path()}",
        "scala.tools.nsc.Main",
        "-usejavacp",
    ]
    done = subprocess.run(
        [*command, "-d", str(folder), str(source)],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def call(spark: SparkSession, folder: Path, name: str = "Block") -> str:
    """What a class of a folder prints, run in the JVM of a session."""
    assert spark._jvm is not None
    java = spark._jvm.java
    urls = spark.sparkContext._gateway.new_array(java.net.URL, 1)
    urls[0] = java.io.File(str(folder)).toURI().toURL()
    parent = java.lang.Thread.currentThread().getContextClassLoader()
    block = java.net.URLClassLoader(urls, parent).loadClass(name)
    nothing = spark.sparkContext._gateway.new_array(java.lang.Object, 0)
    none = spark.sparkContext._gateway.new_array(java.lang.Class, 0)
    return str(block.getMethod("run", none).invoke(None, nothing))
