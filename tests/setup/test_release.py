"""What is published: the archive of sources, the notes, the wheel's contents, and README's blocks
that each release runs. `integration/cluster/test_wheel.py` looks at the wheel itself.
"""

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

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


def test_an_interpreter_that_does_not_run_is_told(tmp_path: Path) -> None:
    assert environments.interpreters(["python3"]).keys() <= {f"3.{n}" for n in range(10, 30)}
    with pytest.raises(SystemExit, match=f"{tmp_path}/python3 does not run; --python names"):
        environments.interpreters([f"{tmp_path}/python3"])
