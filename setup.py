"""The wheel hook: version from gradle.properties, and the compiled jar in the package.

Everything else about the package is declared in pyproject.toml. A wheel gets the jar in its build
directory; an editable install gets it in the source tree, where `gradle jar` puts it too.
"""

import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PROPERTIES = (ROOT / "gradle.properties").read_text(encoding="utf-8").splitlines()
VERSION = next(line.partition("=")[2] for line in PROPERTIES if line.startswith("version="))


class BuildWithJar(build_py):
    """Setuptools' build_py, then jvm/build.py."""

    def run(self) -> None:
        """Copy the Python sources, then compile the shim unless the checkout already has it."""
        super().run()
        jar = self.jars / f"keyfold-{VERSION}.jar"
        if not (self.editable_mode and jar.exists()):
            subprocess.run([sys.executable, "jvm/build.py", str(self.jars)], cwd=ROOT, check=True)

    @property
    def jars(self) -> Path:
        """The folder the jar goes to."""
        top = ROOT / "python" if self.editable_mode else Path(self.build_lib)
        return top.resolve() / "keyfold" / "jars"

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """The files the wheel takes: the Python sources and the jar."""
        jar = self.jars / f"keyfold-{VERSION}.jar"
        return [*super().get_outputs(include_bytecode), str(jar)]


setup(version=VERSION, cmdclass={"build_py": BuildWithJar})
