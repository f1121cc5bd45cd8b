"""The Scala jobs of integration/cluster/jobs in one jar, with the scripts they run."""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from pathlib import Path

import pyspark

from integration.paimon.library import START

JOBS = Path(__file__).with_name("jobs")
SPARK_JARS = Path(pyspark.__file__).parent / "jars"


def build(jar: Path) -> Path:
    """Compile every job and pack it; a warning is an error."""
    sources = sorted(map(str, JOBS.glob("*.scala")))
    with tempfile.TemporaryDirectory() as classes:
        command = [*START, "-Xss8m", "-cp", f"{SPARK_JARS}/*", "scala.tools.nsc.Main", "-usejavacp"]
        command += ["-release:17", "-Xlint", "-Werror", "-d", classes, *sources]
        subprocess.run(command, check=True)
        files = {f.relative_to(classes): f for f in Path(classes).rglob("*.class")}
        files |= {f.relative_to(JOBS): f for f in JOBS.glob("*.sql")}
        with zipfile.ZipFile(jar, "w") as packed:
            for name, file in files.items():
                packed.write(file, name)
    return jar
