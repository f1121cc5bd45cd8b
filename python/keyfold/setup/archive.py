"""`python -m keyfold archive`: keyfold and what it needs as one file for Spark's `--archives`.

It is for clusters whose machines have only Python of this version. The archive holds packages as
they are installed here, and `bin/python`, which runs the machine's own Python with them. Workers
need no package of OF_DRIVER, nor what only those require; a driver on the cluster does.
"""

import io
import re
import shlex
import sys
import tarfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from keyfold.errors import EnvironmentMismatchError
from keyfold.wire.version import package_version

OF_DRIVER = frozenset({"backports-zstd", "fastavro", "requests"})
ENDINGS = (".tar.gz", ".tgz")
LIBRARIES = "lib"
LAUNCHER = """#!/bin/sh
# keyfold {version}: this machine's Python {python} with the packages of ../lib
python=$(command -v python{python}) || {{
    echo "$0 was packed for Python {python}, and this machine's PATH has no python{python}:" \\
        "install it, or pack with the Python that is here" >&2
    exit 1
}}
top=$(cd "$(dirname "$0")/.." && pwd)
PYTHONPATH="$top/lib${{PYTHONPATH:+:$PYTHONPATH}}" exec "$python" "$@"
"""


def folder_name(archive: Path) -> str:
    """The name of the folder that Spark unpacks it into. Raises EnvironmentMismatchError if Spark
    would not unpack a file of this name.
    """
    ending = next((ending for ending in ENDINGS if archive.name.endswith(ending)), None)
    if ending is None or archive.name == ending:
        raise EnvironmentMismatchError(
            f"{archive} must be called NAME.tar.gz or NAME.tgz for Spark to unpack it"
        )
    return archive.name.removesuffix(ending)


def submit_arguments(archive: Path) -> str:
    """The arguments of spark-submit that ship it."""
    return f"--archives {shlex.quote(str(archive))}#{folder_name(archive)}"


def pack(archive: Path, *, for_driver: bool = False, also: Iterable[str] = ()) -> int:
    """Write the archive; returns its number of files. `also` are more installed distributions."""
    folder_name(archive)
    named = ["keyfold", *also]
    left_out = frozenset() if for_driver else OF_DRIVER
    launcher = LAUNCHER.format(
        version=package_version(), python=f"{sys.version_info.major}.{sys.version_info.minor}"
    )
    count = 0
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        _add_text(packed, "bin/python", launcher, mode=0o755)
        for name, file in _members(closure(named, left_out)):
            packed.add(file, f"{LIBRARIES}/{name}", recursive=False)
            count += 1
    return count


def _add_text(packed: tarfile.TarFile, name: str, text: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(text.encode()), mode
    packed.addfile(entry, io.BytesIO(text.encode()))


def closure(named: Iterable[str], left_out: frozenset[str]) -> dict[str, metadata.Distribution]:
    """The distributions and all they require, less those left out."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [(name, "") for name in named]
    while waiting:
        name, marker = waiting.pop()
        name = re.sub(r"[-_.]+", "-", name).lower()
        if name in found or name in left_out:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if marker:  # for other systems or versions of Python
                continue
            raise EnvironmentMismatchError(
                f"{sys.executable} has no package {name}, which the archive needs; install it first"
            ) from None
        waiting += _required(found[name])
    return found


def _required(distribution: metadata.Distribution) -> Iterator[tuple[str, str]]:
    """Names and markers of a distribution's requirements, without its extras."""
    for requirement in distribution.requires or ():
        wanted, _, marker = requirement.partition(";")
        name = re.match(r"\s*([\w.-]+)", wanted)
        if name is not None and "extra" not in marker:
            yield name.group(1), marker


def _members(distributions: dict[str, metadata.Distribution]) -> Iterator[tuple[str, Path]]:
    """Each file's name below the archive's libraries and its path here, each name once."""
    seen: set[str] = set()
    for name, distribution in sorted(distributions.items()):
        files = _own() if name == "keyfold" else _recorded(name, distribution)
        for member, file in files:
            if member not in seen:
                seen.add(member)
                yield member, file


def _recorded(name: str, distribution: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """The files that pip wrote below site-packages."""
    if '"editable": true' in (distribution.read_text("direct_url.json") or ""):
        raise EnvironmentMismatchError(
            f"package {name} is installed as editable, so its files are not known; install it "
            "without --editable to pack it"
        )
    for file in distribution.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            yield file.as_posix(), Path(str(file.locate()))


def _own() -> Iterator[tuple[str, Path]]:
    """The files of this package (a clone too) and of its metadata, which hold its version."""
    package = Path(__file__).parents[1]
    for file in sorted(package.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield f"keyfold/{file.relative_to(package).as_posix()}", file
    for recorded in metadata.files("keyfold") or ():
        if recorded.name in ("METADATA", "entry_points.txt"):
            yield recorded.as_posix(), Path(str(recorded.locate()))
