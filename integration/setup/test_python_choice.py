"""Which Python runs, and what a user reads when it is the wrong one."""

from __future__ import annotations

import json
import os
import stat
import sys
import tarfile
from pathlib import Path

import pytest

from integration import TOP
from integration.faults import harness

SITE = "sitecustomize.py"
TIMEOUT = "spark.keyfold.start.timeout"
DRIVER, BOTH = "spark.keyfold.driver.python", "spark.keyfold.python"
NEWER = """
import importlib.metadata as m
real = m.version
m.version = lambda name: '9.9.9' if name == 'keyfold' else real(name)
"""
Answer = dict[str, str | int]


def ask(folder: Path, confs: dict[str, object], **extra: str) -> Answer:
    """The answer of `scenarios.first_query` in this environment."""
    answer: Answer = harness.run("first_query", folder, json.dumps(confs), extra)
    return answer


def script(path: Path, text: str) -> str:
    """An executable file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def customized(folder: Path, text: str, path: str) -> str:
    """A Python that runs `text` when it starts; `path` is the rest of its PYTHONPATH."""
    python = script(folder / "python", f'PYTHONPATH={folder}{path} exec {sys.executable} "$@"')
    (folder / SITE).write_text(text)
    return python


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the Pythons of `answers` are."""
    return tmp_path_factory.mktemp("choice")


@pytest.fixture(scope="module")
def answers(folder: Path) -> Answer:
    """A session that tries Pythons that do not serve, its own one first, then an archive's."""
    text = f'echo "$0" >> {folder}/used\nexec {sys.executable} "$@"'
    packed = script(folder / "packed" / "python", text)
    with tarfile.open(folder / "kf.tgz", "w:gz") as archive:
        archive.add(packed, "bin/python")
    bare = script(folder / "bare" / "python", f'exec {sys.executable} -S -E "$@"')
    old = "import sys\nsys.version_info = (3, 8, 0, 'final', 0)\n"
    tried = {
        "bare": (DRIVER, bare),
        "missing": (DRIVER, "/no/such/python"),
        "newer": (DRIVER, customized(folder / "newer", NEWER, ":$PYTHONPATH")),
        "old": (DRIVER, customized(folder / "old", old, "")),
        "nowhere": (BOTH, "nowhere/bin/python"),
        "packed": (BOTH, "kf/bin/python"),
    }
    confs = {"spark__archives": f"{folder}/kf.tgz#kf", "spark__keyfold__python": bare}
    return ask(folder, {"session": confs, "tried": tried})


@pytest.mark.parametrize(
    ("tried", "parts"),
    [
        ("bare", ("keyfold", "/bare/python", DRIVER, "nstall")),
        ("missing", ("/no/such/python", DRIVER)),
        ("newer", ("9.9.9", "jar", "keyfold")),
        ("old", ("3.8", "3.10")),
        (
            "nowhere",
            (
                "relative path nowhere/bin/python, which this driver looked for in /",
                f"and in {TOP}",
                "--archives FILE#nowhere",
                DRIVER,
            ),
        ),
    ],
)
def test_a_wrong_python_is_named_with_the_remedy(
    answers: Answer, tried: str, parts: tuple[str, ...]
) -> None:
    for part in parts:
        assert part in str(answers[tried])


def test_a_relative_path_is_looked_up_where_spark_unpacks(answers: Answer, folder: Path) -> None:
    assert answers["count"] == 10
    (used,) = set((folder / "used").read_text().split())
    assert used.endswith("/kf/bin/python")
    assert not used.startswith(str(folder / "packed"))


@pytest.fixture(scope="module")
def unready(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """What statements are told while a Python never answers."""
    folder = tmp_path_factory.mktemp("unready")
    answer: Answer = harness.run("unready", folder, script(folder / "endless", "cat > /dev/null"))
    return answer


def test_a_python_that_never_answers_is_named_with_the_setting(unready: Answer) -> None:
    """No time decides: this Python has not answered after any limit."""
    for part in ("took more than 1 s", "python -m keyfold warmup", f"raise {TIMEOUT}"):
        assert part in str(unready["1s"])
    assert f"{TIMEOUT} is 'soon'; expected a time with a unit" in str(unready["soon"])


def test_a_statement_that_waits_for_python_can_be_interrupted(unready: Answer) -> None:
    assert "InterruptedException" in str(unready["interrupted"])


def test_pyspark_python_is_used(tmp_path: Path) -> None:
    marker = tmp_path / "used"
    wrapper = script(tmp_path / "python", f'echo "$@" >> {marker}\nexec {sys.executable} "$@"')
    assert ask(tmp_path, {}, PYSPARK_PYTHON=wrapper) == {"count": 10}
    assert "keyfold.bridge" in marker.read_text()
    assert os.environ.get("PYSPARK_PYTHON") != wrapper


def test_a_relative_path_of_pysparks_is_the_executors(tmp_path: Path) -> None:
    answer = ask(tmp_path, {}, PYSPARK_PYTHON="only/executors/python", PYSPARK_DRIVER_PYTHON="x")
    assert answer == {"count": 10}
