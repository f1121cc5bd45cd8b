"""Jars of Maven Central that tests and benchmarks alone need, fetched where they are not there yet.

    python -m integration.fetched NAME

`<NAME>Jars` of gradle.properties lists them. Ivy, which is among pyspark's jars, fetches them, so
that nobody has to install a build tool for them.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyspark

from integration import TOP

WAITS = (5, 20, 60, 120)  # seconds before Ivy is asked again: a server may be out of breath
JAR = "[artifact]-[revision](-[classifier]).[ext]"
MODULE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="keyfold" module={name}/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{dependencies}</dependencies>
</ivy-module>
"""


def fetched(name: str, wanted: str) -> Path:
    """The folder `build/<name>` with the jars of that name in gradle.properties, among them a file
    of the pattern `wanted`. One process fetches at a time; a failed attempt is tried again.
    """
    folder = TOP / "build" / name
    folder.parent.mkdir(exist_ok=True)
    said = ""
    with (folder.parent / "fetched.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for wait in (*WAITS, None):
            if any(folder.glob(wanted)):
                return folder
            said = _retrieve(name, folder)
            if said and wait is not None:
                time.sleep(wait)
    assert any(folder.glob(wanted)), f"{coordinates(name)} brought no {wanted}:\n{said}"
    return folder


def coordinates(name: str) -> list[str]:
    """`group:artifact:version` or `group:artifact:version:classifier` of each jar."""
    lines = (TOP / "gradle.properties").read_text(encoding="utf-8").splitlines()
    found = [line.partition("=")[2] for line in lines if line.startswith(f"{name}Jars=")]
    assert len(found) == 1, f"gradle.properties has {len(found)} lines {name}Jars=…, not 1"
    return found[0].split(",")


def version(name: str) -> str:
    """The version of the first jar of that name in gradle.properties."""
    return coordinates(name)[0].split(":")[2]


def _retrieve(name: str, folder: Path) -> str:
    """Let Ivy copy the jars into the folder; what it said if it failed."""
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    with tempfile.TemporaryDirectory() as scratch:
        module = Path(scratch) / "ivy.xml"
        dependencies = "".join(map(_dependency, coordinates(name)))
        module.write_text(
            MODULE.format(name=quoteattr(name), dependencies=dependencies), encoding="utf-8"
        )
        command = ["java", "-jar", str(ivy), "-warn", "-ivy", str(module)]
        command += ["-retrieve", str(folder / JAR)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def _dependency(text: str) -> str:
    """A jar as Ivy's file names it, without what it depends on."""
    group, artifact, version, *classifier = text.split(":")
    named = f'<dependency org="{group}" name="{artifact}" rev="{version}" transitive="false"'
    if not classifier:
        return f'{named} conf="default->master"/>'
    of = f'name="{artifact}" type="jar" ext="jar" m:classifier="{classifier[0]}"'
    return f'{named} conf="default->*"><artifact {of}/></dependency>'


if __name__ == "__main__":
    fetched(sys.argv[1], "*.jar")  # not those of an environment in the folder
