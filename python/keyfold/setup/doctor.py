"""`python -m keyfold doctor`: this interpreter's state, and what stops keyfold from working."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TextIO

from keyfold.errors import KeyfoldError
from keyfold.setup.session import jar_path
from keyfold.wire.version import package_version

PACKAGES = ("pyarrow", "numba", "numpy", "pyroaring", "datasketches", "obstore", "fastavro")
JAVA = 17
FIRST, LAST = (4, 2, 1), (4, 3)  # of Spark, as SparkVersions.scala has them
SPARK = f"Spark {'.'.join(map(str, FIRST))} to {'.'.join(map(str, LAST))}"


@dataclass(frozen=True)
class Finding:
    """The result of one check: what was found, and what to do about it if it is wrong."""

    what: str
    found: str
    remedy: str | None = None


def report(out: TextIO) -> int:
    """Print every finding; returns 1 if any of them is wrong, else 0."""
    findings = list(examine())
    for finding in findings:
        out.write(
            f"{'ok   ' if finding.remedy is None else 'WRONG'} {finding.what}: {finding.found}\n"
        )
        if finding.remedy is not None:
            out.write(f"      {finding.remedy}\n")
    return int(any(finding.remedy is not None for finding in findings))


def examine() -> Iterator[Finding]:
    """The findings of all checks, in order."""
    yield attempt("keyfold", package_version)
    yield attempt("jar", lambda: str(jar_path()))
    yield python()
    yield from (package(name) for name in PACKAGES)
    yield pyspark()
    yield java()
    yield memory(os.cpu_count() or 1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    yield kernel_cache()


def attempt(what: str, look: Callable[[], str]) -> Finding:
    """The result of `look`, or the error of ours that it raises, as a finding."""
    try:
        return Finding(what, look())
    except KeyfoldError as e:
        return Finding(what, "unusable", str(e))


def python() -> Finding:
    """The interpreter's version and path."""
    return Finding("python", f"{sys.version.split()[0]} at {sys.executable}")


def package(name: str) -> Finding:
    """Whether a package that keyfold needs can be imported, and its version."""
    try:
        import_module(name)
        return Finding(name, metadata.version(name))
    except ImportError as e:
        return Finding(name, f"not importable ({e})", f"{sys.executable} -m pip install keyfold")


def pyspark() -> Finding:
    """pyspark, which a cluster may bring itself."""
    try:
        found = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return Finding("pyspark", f"not installed here (fine where the cluster brings {SPARK})")
    return spark(found)


def spark(found: str) -> Finding:
    """Whether the jar is for this version of Spark."""
    numbers = tuple(map(int, re.findall(r"\d+", found)))
    fits = numbers >= FIRST and numbers[:2] <= LAST
    return Finding("pyspark", found, None if fits else f"keyfold's jar is for {SPARK}")


def java() -> Finding:
    """The `java` on the PATH."""
    path = shutil.which("java")
    if path is None:
        return Finding("java", "not on the PATH (fine where only executors run)")
    said = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version.group(1)) < JAVA:
        return Finding("java", said.partition("\n")[0], f"Spark needs Java {JAVA}")
    return Finding("java", f"{version.group(1)} at {path}")


def memory(cores: int, machine: int) -> Finding:
    """Whether a worker for each core fits into the memory of the machine (`machine` bytes)."""
    worker = import_module("keyfold.resources.budget").DEFAULT
    found = (
        f"{machine / (1 << 30):.1f} GiB, {cores} cores; a worker takes up to {worker >> 20} MiB "
        "unless spark.keyfold.worker.memory says otherwise"
    )
    tight = cores * worker > machine
    remedy = "set spark.keyfold.worker.memory (at least 96m), or give Spark fewer cores"
    return Finding("memory", found, remedy if tight else None)


def kernel_cache() -> Finding:
    """The folder of compiled kernels, whether all are there, and those of other versions."""
    jit = import_module("keyfold.kernels.jit")
    directory: Path | None = jit.CACHE_DIRECTORY
    if directory is None:
        return Finding(
            "kernel cache",
            f"in memory only: {jit.CACHE_REFUSAL}",
            "each session compiles for half a minute; let KEYFOLD_CACHE_DIR name a folder that "
            "this user alone may write, below folders that no other user may write",
        )
    is_filled = (directory / "complete").exists()
    state = "filled" if is_filled else "not filled yet: python -m keyfold warmup"
    others = [path for path in directory.parent.glob("kernels-*") if path != directory]
    older = f"; {len(others)} folders beside it are other versions'" if others else ""
    return Finding("kernel cache", f"{directory}, {state}{older}")
