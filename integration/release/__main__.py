"""Make what is published and check it as its users get it: `make release`, in half an hour.

    python -m integration.release [--folder dist] [--python PYTHON …] [--wheel WHEEL]

The source and the wheel are made twice, in different folders; the wheel is also made as pip makes
it of the source alone, fetching what its build needs. Their bytes must be equal. Each version of
Python that runs here then installs the wheel with Spark into an empty environment, where README's
blocks run. Beside them in the folder: `notes.md` and `licenses.md`. A wheel that is named is only
installed, so that other interpreters need no second build.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from integration import TOP
from integration.release import contents, environments, notes, packages

MADE = ("keyfold-*.whl", "keyfold-*.tar.gz", "notes.md", "licenses.md")
TWINE = TOP / "build/release/bin/twine"


def main() -> None:
    """Make it all, or say what keeps it from being published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=TOP / "dist", help="takes what is made")
    parser.add_argument("--python", nargs="*", default=(), help="interpreters that install it")
    parser.add_argument("--wheel", type=Path, help="one that was made before, to be installed")
    said = parser.parse_args()
    said.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="keyfold-release-") as scratch:
        if said.wheel is not None:
            _installed_everywhere(said.wheel, said, Path(scratch))
            return
        for old in (old for kind in MADE for old in said.folder.glob(kind)):
            old.unlink()
        (version,) = re.findall(r"^version=(\S+)$", (TOP / "gradle.properties").read_text(), re.M)
        heading, text = notes.section((TOP / "CHANGELOG.md").read_text(encoding="utf-8"), version)
        (said.folder / "notes.md").write_text(text, encoding="utf-8")
        _installed_everywhere(_made_twice(Path(scratch), said.folder), said, Path(scratch))
    if missing := notes.undated(heading):
        print(f"not to be published yet: {missing}", flush=True)


def _made_twice(scratch: Path, folder: Path) -> Path:
    """The wheel; the source and it are put into the folder if both builds have equal bytes."""
    sources, wheels = [], []
    for turn in ("one", "other"):
        top = scratch / turn
        sources.append(packages.source(packages.clone(top / "clone"), top))
        wheels.append(packages.wheel(sources[-1], top / "wheel"))
    for one, other in (sources, wheels):
        if one.read_bytes() != other.read_bytes():
            raise SystemExit(f"two builds of {one.name} differ: {one} and {other}")
    alone = packages.wheel(sources[0], scratch / "alone", isolated=True)
    if _jar(alone) != _jar(wheels[0]):
        raise SystemExit(f"pip makes another jar of {sources[0].name} than this environment does")
    if found := contents.foreign(wheels[0]):
        raise SystemExit(f"{wheels[0].name} holds files that are not of this checkout: {found}")
    kept = [Path(shutil.move(path, folder / path.name)) for path in (sources[0], wheels[0])]
    subprocess.run([str(TWINE), "check", "--strict", *map(str, kept)], check=True)
    print("two builds have equal bytes; pip makes the same jar of the source alone", flush=True)
    return kept[1]


def _jar(wheel: Path) -> bytes:
    """The bytes of the jar in the wheel."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".jar"))
        return packed.read(name)


def _installed_everywhere(wheel: Path, said: argparse.Namespace, scratch: Path) -> None:
    """README's blocks run with each Python; the list of licenses is that of the newest one."""
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    for version, python in environments.interpreters(said.python).items():
        folder = scratch / version
        folder.mkdir()
        environment = environments.Environment(python, folder, wheel)
        found = environment.licenses()
        count = environments.follow(environment, readme)
        spark = next(number for name, number, _ in found if name == "pyspark")
        print(f"Python {version}, Spark {spark}: README's {count} blocks answer", flush=True)
        page = contents.licenses(wheel, found)
        (said.folder / "licenses.md").write_text(page, encoding="utf-8")
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
