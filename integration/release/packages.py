"""The source and the wheel of this checkout, made as pip makes them where nothing was built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from integration import TOP

PARTS = ("python", "jvm", "tests", "README.md", "CHANGELOG.md", "LICENSE", "MANIFEST.in")
BUILD = ("pyproject.toml", "setup.py", "gradle.properties", "build.gradle", "settings.gradle")
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
SOURCE = "import sys, setuptools.build_meta as backend; print(backend.build_sdist(sys.argv[1]))"


def clone(folder: Path) -> Path:
    """A copy of the checkout in which nothing is built, in a new folder."""
    unbuilt = shutil.ignore_patterns("jars", "*.egg-info", "__pycache__")
    folder.mkdir(parents=True)
    for part in (*PARTS, *BUILD):
        source = TOP / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=unbuilt)
        else:
            shutil.copy(source, folder / part)
    return folder


def source(checkout: Path, folder: Path) -> Path:
    """The archive of the sources that pip builds a wheel of, made in the folder."""
    command = [sys.executable, "-W", "ignore", "-c", SOURCE, str(folder)]
    done = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
    return folder / done.stdout.split()[-1]


def wheel(source: Path, folder: Path, jar: Path | None = None, *, isolated: bool = False) -> Path:
    """The wheel of a folder or an archive of sources, made in the empty folder; the jar is
    compiled, if there is none. An isolated build fetches what pyproject.toml names for it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | ({"KEYFOLD_JAR": str(jar)} if jar else {})
    how = [] if isolated else ["--no-build-isolation"]
    command = [*PIP, "wheel", "--no-deps", *how, "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True, env=environment)
    (made,) = folder.glob("*.whl")
    return made


def build(folder: Path, jar: Path | None = None) -> Path:
    """The wheel of this checkout by way of its archive of sources, as a user of PyPI has it."""
    return wheel(source(clone(folder / "clone"), folder), folder, jar)
