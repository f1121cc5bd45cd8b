"""The first minutes of a user of the wheel: pip in an environment of its own, then README."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from integration import TOP

OLDEST = (3, 10)
NAMES = tuple(f"python3.{minor}" for minor in range(10, 16))
VERSION = "import sys; print(*sys.version_info[:2])"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
METADATA = """
import importlib.metadata as m, json
def license(d):
    of = d.metadata.get_all("Classifier") or []
    said = d.metadata["License-Expression"] or (d.metadata["License"] or "").strip()
    named = [c.rpartition(" :: ")[2] for c in of if c.startswith("License :: ")]
    return said if said and len(said) < 80 else ", ".join(named) or "see its metadata"
print(json.dumps(sorted({(d.name, d.version, license(d)) for d in m.distributions()
    if d.name not in ("pip", "setuptools", "keyfold")})))
"""


def interpreters(named: Sequence[str]) -> dict[str, str]:
    """The path of an interpreter for each version of Python that runs here, the oldest first. Ends
    the release if one that is named is of no use, or there is none.
    """
    found: dict[tuple[int, ...], str] = {}
    for name in named or NAMES:
        path = shutil.which(name)
        done = path and subprocess.run(
            [path, "-c", VERSION], capture_output=True, text=True, check=False
        )
        if not done or done.returncode:
            if named:
                raise SystemExit(
                    f"{name} does not run; --python names interpreters of this machine"
                )
            continue
        version = tuple(map(int, done.stdout.split()))
        if version < OLDEST:
            raise SystemExit(
                f"{name} is Python {_text(version)}, expected {_text(OLDEST)} or newer"
            )
        found.setdefault(version, path)
    if not found:
        raise SystemExit(f"none of {', '.join(NAMES)} runs here: name some with --python")
    return {_text(version): found[version] for version in sorted(found)}


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


class Environment:
    """A new environment with the wheel and what its extra `spark` brings, seen by nothing else."""

    def __init__(self, python: str, folder: Path, wheel: Path) -> None:
        self.folder = folder
        self.python = folder / "environment/bin/python"
        subprocess.run([python, "-m", "venv", str(folder / "environment")], check=True)
        self.run("-m", "pip", "--quiet", "install", f"keyfold[spark] @ {wheel.resolve().as_uri()}")

    def run(self, *words: str) -> str:
        """What a program of it prints; the folder of its session and its kernels is its own."""
        hidden = ("PYTHONPATH", "PYSPARK_PYTHON", "VIRTUAL_ENV", "SPARK_HOME", "SPARK_CONF_DIR")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        # Spark's workers run the first `python3`, which is the environment's once it is activated.
        environment |= {"PATH": f"{self.python.parent}:{os.environ['PATH']}"}
        # Spark's source becomes a wheel of 450 MB, which need not be compressed.
        environment |= {"DIST_EXTRA_CONFIG": str(TOP / ".ci/wheel.cfg")}
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1"}
        environment |= {"KEYFOLD_CACHE_DIR": str(self.folder / "kernels")}
        done = subprocess.run(
            [str(self.python), *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{self.python} {words[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def licenses(self) -> list[tuple[str, str, str]]:
        """(name, version, license) of all that pip installed beside keyfold."""
        return [tuple(found) for found in json.loads(self.run("-c", METADATA))]


def examples(readme: str) -> Iterator[tuple[str, str]]:
    """(program, the answer shown after it) of README's blocks of Python; "" if none is shown."""
    for program, shown in BLOCK.findall(readme):
        yield program, shown.strip()


def follow(environment: Environment, readme: str) -> int:
    """Run README's blocks of Python there, each as a program of its own, and count them. One that
    answers otherwise than the page says ends the release.
    """
    count = 0
    for program, shown in examples(readme):
        count += 1
        (environment.folder / "example.py").write_text(program, encoding="utf-8")
        told = environment.run("example.py").strip()
        shutil.rmtree(environment.folder / "spark-warehouse", ignore_errors=True)
        if shown and told != shown:
            raise SystemExit(f"README says\n{shown}\nand {environment.python} printed\n{told}")
    return count
