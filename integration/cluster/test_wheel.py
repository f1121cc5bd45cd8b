"""The wheel: one jar, of its own version, with the shim in it; nothing of the tests."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from integration import TOP
from integration.release import contents, packages
from keyfold.setup import session
from keyfold.wire.version import package_version


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> zipfile.ZipFile:
    """What is in it."""
    return zipfile.ZipFile(wheel_file)


def test_it_has_exactly_one_jar(wheel: zipfile.ZipFile) -> None:
    jars = [name for name in wheel.namelist() if name.endswith(".jar")]
    assert jars == [f"keyfold/jars/keyfold-{package_version()}.jar"]


def test_its_jar_knows_its_version_and_holds_the_shim(wheel: zipfile.ZipFile) -> None:
    (jar,) = (name for name in wheel.namelist() if name.endswith(".jar"))
    with zipfile.ZipFile(io.BytesIO(wheel.read(jar))) as packed:
        assert packed.read("keyfold/version.properties").decode() == (
            f"version={package_version()}\n"
        )
        names = packed.namelist()
    for class_name in (session.CATALOG_CLASS, session.EXTENSIONS_CLASS):
        assert f"{class_name.replace('.', '/')}.class" in names


def test_nothing_in_it_is_of_others(wheel_file: Path) -> None:
    assert contents.foreign(wheel_file) == []


def test_two_builds_have_equal_bytes(wheel_file: Path, tmp_path: Path) -> None:
    """That of the archive of sources, which compiled its jar, and that of a checkout of other
    times and modes with the jar that `make jar` compiled.
    """
    checkout = packages.clone(tmp_path / "checkout")
    for path in checkout.rglob("*"):
        path.chmod(0o775 if path.is_dir() else 0o664)
        os.utime(path, (1e9, 1e9))
    jar = TOP / "python/keyfold/jars" / f"keyfold-{package_version()}.jar"
    made = packages.wheel(checkout, tmp_path / "other", jar)
    assert made.name == wheel_file.name
    assert made.read_bytes() == wheel_file.read_bytes()


def test_it_has_every_module_and_no_test(wheel: zipfile.ZipFile) -> None:
    sources = (TOP / "python").rglob("*.py")
    expected = {path.relative_to(TOP / "python").as_posix() for path in sources}
    found = {name for name in wheel.namelist() if name.endswith(".py")}
    assert found == expected


def test_it_installs_the_command_line(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "keyfold = keyfold.__main__:main" in wheel.read(name).decode()
