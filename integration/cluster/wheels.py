"""The wheel of this checkout, as `make wheel` makes it from a clone in which nothing was built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from integration import TOP

PARTS = ("python", "jvm", "README.md", "LICENSE", "MANIFEST.in")
BUILD = ("pyproject.toml", "setup.py", "gradle.properties")
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def build(folder: Path) -> Path:
    """The wheel, made in an empty folder."""
    clone = folder / "clone"
    clone.mkdir()
    unbuilt = shutil.ignore_patterns("jars", "*.egg-info", "__pycache__")
    for part in (*PARTS, *BUILD):
        source = TOP / part
        if source.is_dir():
            shutil.copytree(source, clone / part, ignore=unbuilt)
        else:
            shutil.copy(source, clone / part)
    command = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*command, str(clone)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel
