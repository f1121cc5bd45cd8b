"""What is published: the archive of sources, the notes, the wheel's contents, and README's blocks
that each release runs. `integration/cluster/test_wheel.py` looks at the wheel itself.
"""

import os
import re
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from integration.release import contents, environments, notes, packages

TOP = Path(__file__).resolve().parents[2]
WRITTEN = {"PKG-INFO", "setup.cfg"}  # by setuptools
PAGE = """# Changelog

## 0.2.0 - 2026-12-01

- Two.

## 0.1.0 - 2026-11-01

### Added

- One.
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of sources of a copy of the checkout."""
    folder = tmp_path_factory.mktemp("source")
    return packages.source(packages.clone(folder / "clone"), folder)


def expected() -> set[str]:
    """The files of the checkout that a build needs, and the pages that go with it."""
    trees = {
        path.relative_to(TOP).as_posix()
        for top, kinds in {"python": ("*.py", "py.typed"), "jvm": ("*",)}.items()
        for kind in kinds
        for path in (TOP / top).rglob(kind)
        if path.is_file() and "__pycache__" not in path.parts
    }
    return trees | set(packages.BUILD) | (set(packages.PARTS) - {"python", "jvm", "tests"})


def test_the_source_holds_what_a_build_needs_and_nothing_else(source: Path) -> None:
    with tarfile.open(source) as archive:
        files = {entry.name.partition("/")[2] for entry in archive if entry.isfile()}
    made = {name for name in files if ".egg-info/" in name} | WRITTEN
    assert files - made == expected()


def test_two_sources_have_equal_bytes(source: Path, tmp_path: Path) -> None:
    """Whatever time, umask and order of files the checkout has."""
    other = packages.clone(tmp_path / "elsewhere" / "clone")
    for path in sorted(other.rglob("*"), reverse=True):
        if path.is_file():
            text = path.read_bytes()
            path.unlink()
            path.write_bytes(text)
            path.chmod(0o664)
            os.utime(path, (1e9, 1e9))
    assert packages.source(other, tmp_path).read_bytes() == source.read_bytes()


def test_the_notes_are_the_section_of_the_version() -> None:
    heading, text = notes.section(PAGE, "0.1.0")
    assert text == "### Added\n\n- One.\n"
    assert notes.undated(heading) is None
    assert "has no date" in str(notes.undated("Unreleased (0.1.0)"))
    with pytest.raises(SystemExit, match=r"0 sections for version 1\.0 of .*0\.2\.0 - 2026"):
        notes.section(PAGE, "1.0")


def test_the_changelog_has_notes_of_this_version() -> None:
    version = next(TOP.glob("python/keyfold/jars/keyfold-*.jar")).stem.partition("-")[2]
    assert notes.section((TOP / "CHANGELOG.md").read_text(encoding="utf-8"), version)[1]


def test_files_of_others_are_found_in_jar_and_wheel(tmp_path: Path) -> None:
    jar = next(TOP.glob("python/keyfold/jars/keyfold-*.jar"))
    wheel = tmp_path / "keyfold-0-py3-none-any.whl"
    with zipfile.ZipFile(jar) as own, zipfile.ZipFile(tmp_path / "other.jar", "w") as other:
        assert contents.foreign_in_jar(own) == []
        for name in (*own.namelist(), "com/example/Json.class", "META-INF/NOTICE"):
            other.writestr(name, "")
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("keyfold/__init__.py", "")
        packed.writestr("keyfold/six.py", "")
        packed.writestr("keyfold-0.dist-info/METADATA", "")
        packed.write(tmp_path / "other.jar", "keyfold/jars/other.jar")
    inner = [f"keyfold/jars/other.jar: {n}" for n in ("com/example/Json.class", "META-INF/NOTICE")]
    assert contents.foreign(wheel) == ["keyfold/six.py", *inner]


def test_a_release_runs_readmes_blocks_of_python() -> None:
    found = list(environments.examples((TOP / "README.md").read_text(encoding="utf-8")))
    assert [("SparkSession" in program, bool(shown)) for program, shown in found] == [
        (True, True),
        (True, True),
        (False, False),
    ]


@pytest.mark.parametrize("python", [f"3.{minor}" for minor in range(10, 16)])
def test_the_compression_that_fastavro_asks_for_is_required(python: str) -> None:
    """Without it each commit fails: manifests are written with it."""
    page = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^dependencies = \[\n(.*?)^\]", page, re.MULTILINE | re.DOTALL)
    ours, theirs = (
        {
            one.name
            for one in map(Requirement, texts)
            if one.marker is None or one.marker.evaluate(at)
        }
        for texts, at in (
            (re.findall(r'^  "(.*?)"', listed, re.MULTILINE), {"python_version": python}),
            (metadata.requires("fastavro"), {"python_version": python, "extra": "zstandard"}),
        )
    )
    assert theirs == ({"backports.zstd"} if python < "3.14" else set())
    assert "fastavro" in ours
    assert theirs <= ours


def test_an_interpreter_that_is_of_no_use_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("3.13", "3.9", "3.10"):
        path = tmp_path / f"python{version}"
        path.write_text(f"#!/bin/sh\necho {version.replace('.', ' ')}\n")
        path.chmod(0o755)
    newest, oldest, middle = (str(tmp_path / f"python{v}") for v in ("3.13", "3.9", "3.10"))
    found = environments.interpreters([newest, middle])
    assert list(found.items()) == [("3.10", middle), ("3.13", newest)]
    with pytest.raises(SystemExit, match=r"python3\.9 is Python 3\.9, expected 3\.10 or newer"):
        environments.interpreters([newest, oldest])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match=r"none of python3\.10, .* runs here"):
        environments.interpreters([])
    with pytest.raises(SystemExit, match=f"{tmp_path}/python3 does not run; --python names"):
        environments.interpreters([f"{tmp_path}/python3"])
