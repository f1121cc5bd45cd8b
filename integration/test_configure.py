"""`keyfold.configure` and the plain confs: what a session gets, and what a running JVM is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import keyfold
from integration.scenarios import TOP

APPENDS = """
import sys
from pathlib import Path
import keyfold
from integration import sessions
builder = sessions.builder(Path(sys.argv[1])).config("spark.jars", sys.argv[2])
builder = builder.config("spark.sql.extensions", "org.apache.spark.sql.keyfold.Nothing")
options = keyfold.configure(builder, catalog="other", warehouse=sys.argv[1])._options
print(options["spark.jars"])
print(options["spark.sql.extensions"])
print(options["spark.sql.catalog.other"], options["spark.sql.catalog.other.warehouse"])
"""
RUNNING = """
import sys
from pathlib import Path
import keyfold
from integration import sessions
from pyspark.sql import SparkSession
sessions.builder(Path(sys.argv[1])).getOrCreate()
try:
    keyfold.configure(SparkSession.builder)
except keyfold.EnvironmentMismatchError as e:
    print(e)
"""


def python(text: str, *arguments: str) -> str:
    """What a Python program prints."""
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments],
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_appends_to_what_is_set(tmp_path: Path) -> None:
    jars, extensions, catalog = python(APPENDS, str(tmp_path), "/some/other.jar").splitlines()
    assert jars == f"/some/other.jar,{keyfold.jar_path()}"
    assert extensions == "org.apache.spark.sql.keyfold.Nothing,keyfold.spark.KeyfoldExtensions"
    assert catalog == f"keyfold.spark.KeyfoldCatalog {tmp_path}"


def test_a_running_jvm_is_told_the_line(tmp_path: Path) -> None:
    printed = python(RUNNING, str(tmp_path))
    assert f"--jars {keyfold.jar_path()}" in printed
    assert "--conf spark.sql.extensions=keyfold.spark.KeyfoldExtensions" in printed
    assert "--conf spark.sql.catalog.keyfold=keyfold.spark.KeyfoldCatalog" in printed


def test_a_running_session_with_keyfold_is_left_alone(spark: SparkSession) -> None:
    again = keyfold.configure(SparkSession.builder).getOrCreate()
    assert again.sparkContext is spark.sparkContext
