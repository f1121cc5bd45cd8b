"""Lines of Java, compiled and run in the JVM of a session. Imports come first."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.docs.scala_block import call
from integration.faults.processes import DEADLINE
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
LINT = "-Xlint:all,-path,-classfile"


def run_java(spark: SparkSession, text: str, folder: Path) -> str:
    """What the lines print; a compiler's error or warning fails. Skips where there is no javac: a
    JRE, which is all that keyfold needs, has none.
    """
    javac = shutil.which("javac")
    if javac is None:
        pytest.skip("no javac: this is a JRE, and lines of Java need a JDK's compiler")
    head = [line for line in text.splitlines() if line.startswith("import ")]
    body = [line for line in text.splitlines() if not line.startswith("import ")]
    source = folder / "Block.java"
    source.write_text(WRAPPED.format(imports="\n".join(head), lines="\n".join(body)))
    command = [javac, LINT, "-Werror", "-cp", f"{SPARK_JARS}/*:{jar_path()}", "-d", str(folder)]
    done = subprocess.run(
        [*command, str(source)], capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return call(spark, folder)
