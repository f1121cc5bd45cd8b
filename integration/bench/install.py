"""What keyfold costs before its first row: `python -m integration.bench.install [--python PYTHON]`.

A fresh environment gets the wheel of this checkout without Spark: its size, the seconds of pip with
everything in pip's cache, and what an import takes. A Spark session of this environment then runs
that one's Python: the first statements, and the memory of the fork server and the driver process.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from integration import sessions
from integration.bench.measure import MB, size
from integration.faults import processes
from integration.faults.harness import jvm_of
from integration.release import packages

PROCESSES = ("keyfold.bridge.start", "keyfold.questions.executor", "keyfold.questions.driver")
TURNS = 5
STATEMENTS = {
    "first query (SHOW NAMESPACES)": "SHOW NAMESPACES IN keyfold",
    "CREATE NAMESPACE": "CREATE NAMESPACE keyfold.s",
    "CREATE TABLE": "CREATE TABLE keyfold.s.t (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED)",
    "first INSERT": "INSERT INTO keyfold.s.t SELECT id, 'x' FROM range(1000)",
    "second INSERT": "INSERT INTO keyfold.s.t SELECT id, 'y' FROM range(1000)",
    "first SELECT": "SELECT count(*), max(v) FROM keyfold.s.t",
}


def show(label: str, value: float, unit: str) -> None:
    """Print a figure."""
    print(f"{label:44} {value:9.2f} {unit}", flush=True)


def timed(command: list[str]) -> float:
    """Seconds of a command that succeeds."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")
    return time.perf_counter() - start


def installed(wheel: Path, python: str, folder: Path) -> Path:
    """The interpreter of an environment with the wheel; a first one has filled pip's cache."""
    for turn in ("cold", "warm"):
        made = folder / turn
        subprocess.run([python, "-m", "venv", str(made)], check=True)
        before = size(made)
        pip = [str(made / "bin" / "pip"), "--disable-pip-version-check", "install", str(wheel)]
        took = timed(pip)
    show("pip install, packages in its cache", took, "s")
    show("size of what it installed", (size(made) - before) / 1e6, "MB")
    listed = subprocess.run([*pip[:-2], "freeze"], check=True, capture_output=True, text=True)
    show("distributions", len(listed.stdout.splitlines()), "")
    return made / "bin" / "python"


def imports(python: Path) -> None:
    """How long a fresh interpreter takes to import and end."""
    for module in ("sys", "keyfold", *PROCESSES):
        command = [str(python), "-c", f"import {module}"]
        timed(command)
        show(f"import {module}", statistics.median(timed(command) for _ in range(TURNS)), "s")


def archived(python: Path, folder: Path) -> None:
    """The archive for workers."""
    archive = folder / "workers.tar.gz"
    show("making the archive", timed([str(python), "-m", "keyfold", "archive", str(archive)]), "s")
    show("archive for workers", archive.stat().st_size / 1e6, "MB")


def memory(pid: int) -> tuple[float, float]:
    """MB resident, and MB with each shared page divided among those who share it."""
    found = {}
    for line in (processes.PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        found[name] = int(value) * 1024 / MB
    return found["Rss:"], found["Pss:"]


def session(python: Path, folder: Path) -> None:
    """The first statements of a session, and what its processes take after them."""
    timed([str(python), "-m", "keyfold", "warmup"])
    spark = sessions.start(folder, **sessions.TIMED, spark__keyfold__python=str(python))
    spark.range(1000).selectExpr("count(*)").collect()
    for label, statement in STATEMENTS.items():
        start = time.perf_counter()
        spark.sql(statement).collect()
        show(label, time.perf_counter() - start, "s")
    (server,) = processes.children(jvm_of(spark)) & processes.workers(jvm_of(spark))
    driver = min(processes.children(server))  # the first statement needs no worker
    for label, pid in {"fork server": server, "driver process": driver}.items():
        resident, shared = memory(pid)
        show(f"{label}, resident", resident, "MB")
        show(f"{label}, shared pages divided", shared, "MB")
    spark.stop()


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="what makes the environment")
    parser.add_argument("--wheel", type=Path, help="a wheel that is there")
    said = parser.parse_args()
    os.environ.pop("PYTHONPATH", None)  # the wheel is measured, not this checkout
    with tempfile.TemporaryDirectory(prefix="keyfold-install-") as scratch:
        folder = Path(scratch)
        wheel = said.wheel or packages.build(folder)
        python = installed(wheel, said.python, folder)
        imports(python)
        archived(python, folder)
        session(python, folder)


if __name__ == "__main__":
    main()
