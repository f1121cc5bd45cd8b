"""The build hooks: version from gradle.properties, the compiled jar in the wheel, equal bytes of
equal sources.

Everything else about the package is declared in pyproject.toml. A wheel gets the jar in its build
directory; an editable install gets it in the source tree, where `gradle jar` puts it too.
"""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
PROPERTIES = (ROOT / "gradle.properties").read_text(encoding="utf-8").splitlines()
VERSION = next(line.partition("=")[2] for line in PROPERTIES if line.startswith("version="))
JAR = f"keyfold-{VERSION}.jar"
# Times and modes of files would make two builds differ: a wheel's times are of 1980, the first year
# of a zip file, unless who builds names another second.
EPOCH = os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")


class BuildWithJar(build_py):
    """Setuptools' build_py, then jvm/build.py."""

    def run(self) -> None:
        """Copy the Python sources; then compile the shim, unless the checkout already has it or
        KEYFOLD_JAR names a jar that was compiled from these sources.
        """
        super().run()
        named = os.environ.get("KEYFOLD_JAR")
        if named and not self.editable_mode:
            self.jars.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(check_name(Path(named)), self.jars / JAR)
        elif not (self.editable_mode and (self.jars / JAR).exists()):
            subprocess.run([sys.executable, "jvm/build.py", str(self.jars)], cwd=ROOT, check=True)

    @property
    def jars(self) -> Path:
        """The folder the jar goes to."""
        top = ROOT / "python" if self.editable_mode else Path(self.build_lib)
        return top.resolve() / "keyfold" / "jars"

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """The files the wheel takes: the Python sources and the jar."""
        return [*super().get_outputs(include_bytecode), str(self.jars / JAR)]


def check_name(jar: Path) -> Path:
    """Ends the program if the jar is not there or is of another version."""
    if jar.name != JAR or not jar.is_file():
        sys.exit(f"KEYFOLD_JAR is {jar}; expected the path of a file {JAR}")
    return jar


class PlainWheel(bdist_wheel):
    """Setuptools' bdist_wheel, whose files have one mode, whatever the checkout's have."""

    def write_wheelfile(self, *place: str, **named: str) -> None:
        """Write the last file before the wheel is packed."""
        super().write_wheelfile(*place, **named)
        for path in Path(self.bdist_dir).rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)


class UndatedSource(sdist):
    """Setuptools' sdist, whose archive says nothing of the machine: sorted, undated, nobody's."""

    def make_archive(self, base_name: str, format: str, *_: object, **named: str) -> str:
        """Pack the folder `base_dir` into `base_name`.tar.gz, the one format there is."""
        if format != "gztar":
            sys.exit(f"--formats={format}: keyfold's source is packed as gztar only")
        folder = Path(named["base_dir"])
        packed = Path(f"{base_name}.tar.gz")
        packed.parent.mkdir(parents=True, exist_ok=True)
        with (
            packed.open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, mtime=int(EPOCH)) as stream,
            tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(folder.rglob("*")):
                archive.add(path, path.as_posix(), recursive=False, filter=undated)
        return str(packed)


def undated(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without owner, time and the umask of a checkout."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(EPOCH)
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


COMMANDS = {"build_py": BuildWithJar, "bdist_wheel": PlainWheel, "sdist": UndatedSource}
setup(version=VERSION, cmdclass=COMMANDS)
