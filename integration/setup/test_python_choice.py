"""Which Python runs, and what a user reads when it is the wrong one."""

from __future__ import annotations

import json
import os
import stat
import sys
import tarfile
from pathlib import Path

from integration import TOP
from integration.faults import harness

SITE = "sitecustomize.py"


def ask(folder: Path, confs: dict[str, str], **extra: str) -> dict[str, object]:
    """The answer of a fresh session with these confs (`__` for a dot) and environment."""
    answer = harness.run("first_query", folder, json.dumps(confs), extra)
    assert isinstance(answer, dict)
    return answer


def script(path: Path, text: str) -> str:
    """An executable file."""
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_missing_package_names_python_and_remedy(tmp_path: Path) -> None:
    bare = script(tmp_path / "bare-python", f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    error = str(ask(tmp_path, {"spark__keyfold__driver__python": bare})["error"])
    for part in ("keyfold", bare, "spark.keyfold.driver.python", "nstall"):
        assert part in error


def test_a_statement_that_waits_for_python_can_be_interrupted(tmp_path: Path) -> None:
    endless = script(tmp_path / "endless-python", "#!/bin/sh\ncat > /dev/null\n")
    answer = harness.run("waiting", tmp_path, endless)
    assert "InterruptedException" in answer["error"]


def test_python_that_does_not_exist(tmp_path: Path) -> None:
    error = str(ask(tmp_path, {"spark__keyfold__driver__python": "/no/such/python"})["error"])
    assert "/no/such/python" in error
    assert "spark.keyfold.driver.python" in error


def test_versions_of_jar_and_package_differ(tmp_path: Path) -> None:
    (tmp_path / SITE).write_text(
        "import importlib.metadata as m\n"
        "real = m.version\n"
        "m.version = lambda name: '9.9.9' if name == 'keyfold' else real(name)\n"
    )
    other = script(
        tmp_path / "other-python",
        f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"\n',
    )
    error = str(ask(tmp_path, {"spark__keyfold__driver__python": other})["error"])
    assert "9.9.9" in error
    assert "jar" in error
    assert "keyfold" in error


def test_python_too_old(tmp_path: Path) -> None:
    (tmp_path / SITE).write_text("import sys\nsys.version_info = (3, 8, 0, 'final', 0)\n")
    old = script(
        tmp_path / "old-python",
        f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n',
    )
    error = str(ask(tmp_path, {"spark__keyfold__driver__python": old})["error"])
    assert "3.8" in error
    assert "3.10" in error


def test_pyspark_python_is_used(tmp_path: Path) -> None:
    marker = tmp_path / "used"
    wrapper = script(
        tmp_path / "wrapped-python",
        f'#!/bin/sh\necho "$@" >> {marker}\nexec {sys.executable} "$@"\n',
    )
    answer = ask(tmp_path, {}, PYSPARK_PYTHON=wrapper)
    assert answer == {"error": "", "count": 10}
    assert "keyfold.bridge" in marker.read_text()
    assert os.environ.get("PYSPARK_PYTHON") != wrapper


def test_a_relative_path_is_looked_up_where_spark_unpacks(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    marker = tmp_path / "used"
    text = f'#!/bin/sh\necho "$0" >> {marker}\nexec {sys.executable} "$@"\n'
    script(tmp_path / "bin" / "python", text)
    with tarfile.open(tmp_path / "kf.tgz", "w:gz") as packed:
        packed.add(tmp_path / "bin" / "python", "bin/python")
    confs = {
        "spark__archives": f"{tmp_path}/kf.tgz#kf",
        "spark__keyfold__python": "kf/bin/python",
    }
    assert ask(tmp_path, confs) == {"error": "", "count": 10}
    (used,) = set(marker.read_text().split())
    assert used.endswith("/kf/bin/python")
    assert not used.startswith(str(tmp_path / "bin"))


def test_a_relative_path_that_is_nowhere(tmp_path: Path) -> None:
    error = str(ask(tmp_path, {"spark__keyfold__python": "nowhere/bin/python"})["error"])
    assert "relative path nowhere/bin/python, which this driver looked for in /" in error
    assert f"and in {TOP}" in error
    assert "--archives FILE#nowhere" in error
    assert "spark.keyfold.driver.python" in error


def test_a_relative_path_of_pysparks_is_the_executors(tmp_path: Path) -> None:
    answer = ask(tmp_path, {}, PYSPARK_PYTHON="only/executors/python", PYSPARK_DRIVER_PYTHON="x")
    assert answer == {"error": "", "count": 10}
