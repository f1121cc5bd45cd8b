"""Compile the Scala shim and pack keyfold-<version>.jar: the one way it is compiled.

`gradle jar` runs this file for a checkout, setup.py runs it for a wheel. The compiler and the
classpath are the jars inside the installed pyspark, so a JRE of version 17 and pyspark are all
it needs, and nothing is fetched. Same sources, same bytes: entries are sorted and undated.
"""

import argparse
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SETS = tuple(ROOT / "jvm" / "src" / name for name in ("shim", "sql", "client"))
OLDEST = "4.2"  # the Spark that the jar is compiled against, and runs on with those after it
EPOCH = (1980, 1, 1, 0, 0, 0)


def version() -> str:
    """The project's version, from gradle.properties."""
    text = (ROOT / "gradle.properties").read_text(encoding="utf-8")
    found = re.search(r"^version=(\S+)$", text, re.MULTILINE)
    if found is None:
        sys.exit("gradle.properties holds no line version=…")
    return found.group(1)


def spark_jars() -> Path:
    """The folder of jars inside this interpreter's pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        sys.exit(f"{sys.executable} has no pyspark, whose Scala compiler builds the jar")
    return Path(spec.origin).parent / "jars"


def check_spark(jars: Path) -> None:
    """Ends the program if the jars are of a Spark whose jar would not run on the oldest one."""
    found = [core.stem.rpartition("-")[2] for core in jars.glob("spark-core_*.jar")]
    if not any(version.startswith(f"{OLDEST}.") for version in found):
        sys.exit(
            f"{sys.executable} has Spark {', '.join(found) or 'without a spark-core jar'}; a jar "
            f"compiled against it would not run on Spark {OLDEST}, the oldest that keyfold is for: "
            f"pip install 'pyspark=={OLDEST}.*'"
        )


def java() -> str:
    """The `java` of JAVA_HOME, else of the PATH."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        where = f"JAVA_HOME={home}" if home else "the PATH"
        sys.exit(f"no java found in {where}; the build needs Java 17 (apt-get install default-jre)")
    return found


def compile_into(classes: Path) -> None:
    """Run scalac on each source set, which sees those before it; its warnings are errors. One JVM
    compiles all: scalac is several times as fast once it has run.
    """
    with running_java(spark_jars()) as gateway:
        for top in SETS:
            sources = sorted(str(path) for path in (top / "scala").rglob("*.scala"))
            seen = f"{spark_jars()}{os.sep}*{os.pathsep}{classes}"
            options = f"@{ROOT / 'jvm' / 'scalac.options'}"
            words = [options, "-cp", seen, "-d", str(classes), *sources]
            given = gateway.new_array(gateway.jvm.String, len(words))
            for place, word in enumerate(words):
                given[place] = word
            if not gateway.jvm.scala.tools.nsc.Main.process(given):
                sys.exit(f"jvm/src/{top.name} does not compile: see the lines above")


@contextmanager
def running_java(jars: Path) -> Iterator[Any]:
    """A JVM whose methods are called from here, as pyspark calls Spark's: by py4j, which comes with
    it. Its stderr is ours.
    """
    from py4j.java_gateway import (  # noqa: PLC0415 - whoever lacks pyspark was told so
        GatewayParameters,
        JavaGateway,
        launch_gateway,
    )

    port, token, process = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=f"{jars}{os.sep}*",
        javaopts=["-Xss8m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        java_path=java(),
        die_on_exit=True,
        redirect_stderr=sys.stderr,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process.stdin.close()  # by which it ends
        process.wait()


def contents(classes: Path) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of every entry of the jar, sorted by name."""
    tops = (classes, *(top / "resources" for top in SETS))
    files = {f.relative_to(top).as_posix(): f for top in tops for f in top.rglob("*")}
    entries = {name: file.read_bytes() for name, file in files.items() if file.is_file()}
    entries["keyfold/version.properties"] = f"version={version()}\n".encode()
    entries["META-INF/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    yield "META-INF/MANIFEST.MF", manifest()
    yield from sorted(entries.items())


def manifest() -> bytes:
    """The jar's manifest, with title and version."""
    lines = (
        "Manifest-Version: 1.0",
        "Implementation-Title: keyfold",
        f"Implementation-Version: {version()}",
    )
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def build(directory: Path) -> Path:
    """Compile and pack into `directory`, replacing whatever jar of keyfold was there."""
    check_spark(spark_jars())
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"keyfold-{version()}.jar"
    with tempfile.TemporaryDirectory() as scratch:
        compile_into(Path(scratch))
        packed = directory / f".{target.name}.{os.getpid()}"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as jar:
            for name, data in contents(Path(scratch)):
                jar.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)
    for old in directory.glob("keyfold-*.jar"):
        old.unlink()
    return packed.replace(target)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    into = arguments.add_mutually_exclusive_group(required=True)
    into.add_argument("directory", type=Path, nargs="?", help="the folder to put the jar into")
    into.add_argument("--check", action="store_true", help="only compile, against any Spark")
    said = arguments.parse_args()
    if said.check:
        with tempfile.TemporaryDirectory() as unpacked:
            compile_into(Path(unpacked))
    else:
        print(build(said.directory))
