"""What the wheel and the jar in it hold, and whose it is: all of it is of this checkout."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from integration import TOP

PACKAGE = re.compile(r"^package (\S+)$", re.MULTILINE)
WRITTEN = ("META-INF/MANIFEST.MF", "META-INF/LICENSE", "keyfold/version.properties")
Requirement = tuple[str, str, str]  # name, version, license


def folders_of_classes() -> set[str]:
    """The folders of a jar for the packages that the sources declare."""
    texts = [path.read_text(encoding="utf-8") for path in (TOP / "jvm/src").rglob("*.scala")]
    return {"/".join(PACKAGE.findall(text)).replace(".", "/") for text in texts}


def foreign_in_jar(jar: zipfile.ZipFile) -> list[str]:
    """The files that are not made of this checkout's sources."""
    folders = folders_of_classes()
    resources = {
        path.relative_to(top).as_posix()
        for top in (TOP / "jvm/src").glob("*/resources")
        for path in top.rglob("*")
    }
    ours = resources | set(WRITTEN)
    return [
        name
        for name in jar.namelist()
        if name not in ours
        and not (name.endswith(".class") and str(PurePosixPath(name).parent) in folders)
    ]


def foreign(wheel: Path) -> list[str]:
    """The files of a wheel, and of the jar in it, that are not made of this checkout's sources."""
    sources = {p.relative_to(TOP / "python").as_posix() for p in (TOP / "python").rglob("*")}
    found = []
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if name.endswith(".jar"):
                with zipfile.ZipFile(io.BytesIO(packed.read(name))) as jar:
                    found += [f"{name}: {inner}" for inner in foreign_in_jar(jar)]
            elif name not in sources and ".dist-info/" not in name:
                found.append(name)
    return found


def licenses(wheel: Path, requirements: Sequence[Requirement]) -> str:
    """A page: what is inside the wheel, and what pip installs beside it."""
    with zipfile.ZipFile(wheel) as packed:
        (inner,) = (name for name in packed.namelist() if name.endswith(".jar"))
        modules = sum(name.endswith(".py") for name in packed.namelist())
        with zipfile.ZipFile(io.BytesIO(packed.read(inner))) as jar:
            classes = sum(name.endswith(".class") for name in jar.namelist())
    lines = (
        f"# Licenses of {wheel.name}",
        "",
        "The wheel and the archive of sources hold this project's own code alone, under the Apache",
        f"License 2.0: {modules} modules of Python and one jar of {classes} classes, each compiled",
        "from a source in `jvm/src`. No library is inside: the jar uses what Spark brings.",
        "",
        "pip installs these beside it, each under its own license, which its metadata names:",
        "",
        "| package | version | license |",
        "|---|---|---|",
        *(f"| {name} | {version} | {license} |" for name, version, license in requirements),
    )
    return "\n".join((*lines, ""))
