"""Lines of Java, compiled and run in the JVM of a session. Imports come first."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pyspark.sql import SparkSession

from integration.docs.scala_block import call
from integration.faults.processes import DEADLINE
from integration.fetched import fetched
from integration.paimon.library import SPARK_JARS
from keyfold.setup.session import jar_path

WRAPPED = """{imports}
public class Block {{
  public static String run() throws Exception {{
    var printed = new java.io.ByteArrayOutputStream();
    var before = System.out;
    System.setOut(new java.io.PrintStream(printed, true, "UTF-8"));
    try {{
      body();
    }} finally {{
      System.setOut(before);
    }}
    return printed.toString("UTF-8");
  }}
  private static void body() throws Exception {{
{lines}
  }}
}}
"""
LINT = ("-17", "-proc:none", "-warn:-unusedLocal", "-failOnWarning")


def run_java(spark: SparkSession, text: str, folder: Path) -> str:
    """What the lines print; a compiler's error or warning fails. The compiler is that of Eclipse,
    as a JRE, which is all that keyfold needs, has none.
    """
    head = [line for line in text.splitlines() if line.startswith("import ")]
    body = [line for line in text.splitlines() if not line.startswith("import ")]
    source = folder / "Block.java"
    source.write_text(WRAPPED.format(imports="\n".join(head), lines="\n".join(body)))
    (compiler,) = fetched("ecj", "ecj-*.jar").glob("ecj-*.jar")
    command = ["java", "-jar", str(compiler), *LINT, "-cp", f"{_jars()}:{jar_path()}"]
    done = subprocess.run(
        [*command, "-d", str(folder), str(source)],
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return call(spark, folder)


def _jars() -> str:
    return ":".join(str(path) for path in sorted(SPARK_JARS.glob("*.jar")))
