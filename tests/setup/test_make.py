"""What `make` runs beside each other, with a shell that only writes down what it is asked for; and
which test files it runs first.
"""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SHELL = """#!/bin/bash
case "$2" in
  make*|*/make*|find*|sed*) exec bash -c "$2" ;;
  *touch*) last=${2##* }; mkdir -p "$(dirname "$last")"; touch "$last" ;;
  *) echo "begin $2" >> recipes; sleep 0.02; echo "end $2" >> recipes ;;
esac
case "$2" in *class_archive) touch build/spark.jsa ;; esac
"""


def recipes(folder: Path, *arguments: str) -> list[str]:
    """The beginnings and ends of recipes in an empty checkout."""
    (folder / "shell").write_text(SHELL)
    (folder / "shell").chmod(0o755)
    for name in (".ci", "jvm", "integration", "tests", *map(str, TOP.glob("*.lock"))):
        (folder / Path(name).name).symlink_to(TOP / name)
    for name in ("Makefile", "pyproject.toml", "setup.py", "gradle.properties", "build.gradle"):
        (folder / name).symlink_to(TOP / name)
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("MAKE", "MFLAGS"))}
    subprocess.run(
        ["make", f"SHELL={folder / 'shell'}", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
    )
    return (folder / "recipes").read_text().splitlines()


@pytest.mark.parametrize("arguments", [["test"], ["-j4", "test"], ["-j4", "lint", "test"]])
def test_set_up_runs_once_and_two_parts_at_a_time(tmp_path: Path, arguments: list[str]) -> None:
    found = recipes(tmp_path, *arguments)
    begun = [line for line in found if line.startswith("begin ")]
    assert len(begun) == len(set(begun)) > 10
    runs, most = 0, 0
    for line in found:
        runs += 1 if line.startswith("begin ") else -1 if line.startswith("end ") else 0
        most = max(most, runs)
    assert most == 2
    tests = [line for line in found if "pytest -n" in line]
    assert [line.split()[0] for line in tests[:2]] == ["begin", "end"]
    assert sorted(line.split()[0] for line in tests[2:]) == ["begin"] * 2 + ["end"] * 2
    assert any("shown-at-its-end" in line for line in tests), "it is beside the other"


def test_a_checkout_may_be_in_a_folder_of_two_words(tmp_path: Path) -> None:
    (tmp_path / "two words").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "two words")  # of the shell: make takes no blank
    found = recipes(tmp_path / "link", "test", "wheel", f"CURDIR={tmp_path / 'two words'}")
    lines = [line for line in found if line.startswith("begin ") and "two words" in line]
    words = [word for line in lines for word in shlex.split(line) if "two" in word]
    assert len(words) == 4
    assert all("two words/" in word for word in words), words


def test_files_that_ci_begins_with_are_there() -> None:
    """Those that took longest, in its order: a file that is renamed would begin late."""
    lines = (TOP / ".ci" / "seconds").read_text().splitlines()
    seconds = [float(line.split()[0]) for line in lines]
    assert len(lines) > 40
    assert seconds == sorted(seconds, reverse=True)
    assert [line for line in lines if not (TOP / line.split()[1]).is_file()] == []
