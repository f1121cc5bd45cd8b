"""What `python -m keyfold archive` packs: enough for a worker, run by a Python that has nothing."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from keyfold.errors import EnvironmentMismatchError
from keyfold.setup import archive
from keyfold.wire.version import package_version

PROGRAM = (
    "import keyfold.questions.executor, keyfold.wire.version as v; "
    "print(v.__file__, v.package_version())"
)


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in an environment of its own."""
    kept = {name: os.environ[name] for name in ("HOME", "KEYFOLD_CACHE_DIR") if name in os.environ}
    return subprocess.run(
        command, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive as a cluster's machine has it."""
    folder = tmp_path_factory.mktemp("archive")
    archive.pack(folder / "kf.tgz")
    with tarfile.open(folder / "kf.tgz") as packed:
        packed.extractall(folder / "kf", filter="fully_trusted")
    return folder / "kf"


def bare_path() -> str:
    """A PATH with the Python below this environment, which has no packages."""
    return f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"


def test_a_bare_python_runs_a_worker_from_it(unpacked: Path) -> None:
    assert run(["python3", "-c", "import numba"], PATH=bare_path()).returncode != 0
    done = run([str(unpacked / "bin" / "python"), "-c", PROGRAM], PATH=bare_path())
    module, version = done.stdout.split()
    assert Path(module).is_relative_to(unpacked), done.stderr
    assert version == package_version()


def test_it_has_what_workers_need_and_no_more(unpacked: Path) -> None:
    found = {path.name for path in (unpacked / "lib").iterdir()}
    assert {"keyfold", "numba", "llvmlite", "numpy", "pyarrow", "pyroaring"} <= found
    assert not {"fastavro", "pandas", "pyspark", "requests"} & found


def test_a_machine_without_that_python_says_so(unpacked: Path, tmp_path: Path) -> None:
    done = run(["/bin/sh", str(unpacked / "bin" / "python"), "-V"], PATH=str(tmp_path))
    assert done.returncode == 1
    wanted = f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert f"this machine's PATH has no {wanted}: install it" in done.stderr


def test_a_driver_on_the_cluster_needs_more_and_packages_of_ones_own_may_come_too() -> None:
    worker = archive.closure(["keyfold", "hypothesis"], archive.OF_DRIVER)
    driver = archive.closure(["keyfold"], frozenset())
    assert {"hypothesis", "sortedcontainers"} <= worker.keys()
    assert not archive.OF_DRIVER & worker.keys()
    assert {"urllib3", *archive.OF_DRIVER} <= driver.keys()


@pytest.mark.parametrize("name", ["kf.zip", "kf", ".tgz"])
def test_a_name_that_spark_would_not_unpack(name: str) -> None:
    with pytest.raises(EnvironmentMismatchError, match=r"NAME\.tar\.gz or NAME\.tgz"):
        archive.folder_name(Path(name))


def test_a_missing_package_is_named() -> None:
    with pytest.raises(EnvironmentMismatchError, match="has no package no-such-package"):
        archive.closure(["no_such.package"], frozenset())


@pytest.mark.parametrize("option", [[], ["--for-driver"]])
def test_conf_ships_an_archive(option: list[str]) -> None:
    command = [sys.executable, "-m", "keyfold", "conf", "--archive", "/data/kf-env.tar.gz"]
    done = run([*command, *option], **known())
    assert done.stdout.endswith("--archives /data/kf-env.tar.gz#kf-env\n"), done.stderr
    assert "--conf spark.keyfold.python=kf-env/bin/python " in done.stdout
    driver = f"--conf spark.keyfold.driver.python={sys.executable} "
    assert (driver in done.stdout) == (not option)
    assert "session.python" not in done.stdout


def known() -> Mapping[str, str]:
    """Where this package is found."""
    return {"PYTHONPATH": str(Path(archive.__file__).parents[2])}
