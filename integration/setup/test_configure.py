"""`keyfold.configure` and the plain confs: what a session gets, and what a running JVM is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import keyfold
from integration import TOP
from integration.faults.processes import DEADLINE

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
        timeout=DEADLINE,
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


JOB = """
import sys
import keyfold
from pyspark.sql import SparkSession
spark = keyfold.configure(SparkSession.builder, warehouse=sys.argv[1]).getOrCreate()
print(spark.conf.get("spark.sql.extensions"))
spark.sql("CREATE NAMESPACE keyfold.n")
spark.sql("CREATE TABLE keyfold.n.t (id INT, PRIMARY KEY (id) NOT ENFORCED)")
spark.sql("INSERT INTO keyfold.n.t VALUES (1), (2), (1)")
print(spark.table("keyfold.n.t").count())
"""


def test_spark_submit(tmp_path: Path) -> None:
    """With an extension of the user's, in a folder whose types.py would break any Python."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "types.py").write_text("raise SystemExit('not the types you look for')")
    (tmp_path / "job.py").write_text(JOB)
    submit = str(Path(sys.executable).with_name("spark-submit"))
    confs = ("spark.ui.enabled=false", "spark.sql.extensions=org.example.Missing")
    arguments = [word for conf in confs for word in ("--conf", conf)]
    arguments += ["--jars", str(keyfold.jar_path())]
    done = subprocess.run(
        [submit, *arguments, str(tmp_path / "job.py"), str(tmp_path / "warehouse")],
        cwd=tmp_path / "run",
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    extensions, count = done.stdout.splitlines()[:1] + done.stdout.splitlines()[-1:]
    assert extensions == "org.example.Missing,keyfold.spark.KeyfoldExtensions"
    assert count == "2"
