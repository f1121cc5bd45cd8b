"""The jar and the jars of tests: `make` and gradle's description of the build say the same."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from integration.fetched import coordinates

TOP = Path(__file__).resolve().parents[2]
MAKEFILE = (TOP / "Makefile").read_text(encoding="utf-8")
GRADLE = (TOP / "build.gradle").read_text(encoding="utf-8")


def test_make_and_gradle_compile_the_jar_by_one_script() -> None:
    (made,) = re.findall(r"\$\(BIN\)/python (\S+) \$\(dir \$@\)", MAKEFILE)
    (described,) = re.findall(r"commandLine python, '(\S+)', jarFile\.parent", GRADLE)
    assert made == described == "jvm/build.py"
    (target,) = re.findall(r"^JAR := (\S+)$", MAKEFILE, re.MULTILINE)
    (file,) = re.findall(r'def jarFile = file\("(\S+)"\)', GRADLE)
    assert target.replace("$(VERSION)", "${version}") == file


def test_the_shim_compiles_alone() -> None:
    """A source set sees the classes of those before it, and none of the others."""
    script = (TOP / "jvm" / "build.py").read_text(encoding="utf-8")
    (sets,) = re.findall(r"^SETS = .* in \((.*)\)\)$", script, re.MULTILINE)
    (described,) = re.findall(
        r"compile jvm/src/(\w+), then jvm/src/(\w+) and jvm/src/(\w+) with it", GRADLE
    )
    assert re.findall(r'"(\w+)"', sets) == list(described) == ["shim", "sql", "client"]
    assert {path.name for path in (TOP / "jvm" / "src").iterdir()} == set(described)


def test_make_needs_no_gradle() -> None:
    packages = (TOP / ".ci" / "packages").read_text(encoding="utf-8")
    assert re.findall(r"(?<!\.)\bgradle(?!\.properties)\b", packages + MAKEFILE) == []


def test_both_fetch_the_same_jars_of_tests() -> None:
    (names,) = re.findall(r"^\[(.*)\]\.each", GRADLE, re.MULTILINE)
    described = re.findall(r"'(\w+)'", names)
    properties = (TOP / "gradle.properties").read_text(encoding="utf-8")
    assert described == re.findall(r"^(\w+)Jars=", properties, re.MULTILINE)
    for name in described:
        assert all(3 <= len(jar.split(":")) <= 4 for jar in coordinates(name))


def test_a_name_without_jars_is_refused() -> None:
    with pytest.raises(AssertionError, match="0 lines nonesuchJars"):
        coordinates("nonesuch")


def test_the_jar_is_compiled_against_the_oldest_spark(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("build", TOP / "jvm" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    build.check_spark(build.spark_jars())
    (tmp_path / "spark-core_2.13-4.3.0.jar").touch()
    with pytest.raises(SystemExit, match=r"has Spark 4\.3\.0; .* pip install 'pyspark==4\.2\.\*'"):
        build.check_spark(tmp_path)
