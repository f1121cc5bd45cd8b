"""Functions of the user's own on a cluster: registered, shipped with --py-files, installed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from integration import TOP, sessions
from integration.faults import harness, processes
from keyfold.setup.session import session_confs, submit_arguments

SHIPPED = """
import keyfold

@keyfold.aggregate(("INT", "BIGINT"))
def {name}(accumulator, value):
    return {result}
"""
PACKAGE = """
[project]
name = "own-package"
version = "1.0"
[project.entry-points."keyfold.aggregates"]
sums = "own_package:installed_sum"
[project.entry-points."keyfold.engines"]
newest = "own_package"
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[tool.setuptools]
py-modules = ["own_package"]
"""
ENGINE = """
@keyfold.engine({"v": "BIGINT"})
def greatest(kept, row):
    return kept.v is None or (row.v is not None and row.v > kept.v)
"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What own_functions.py printed, run by spark-submit on two executors."""
    folder = tmp_path_factory.mktemp("own")
    with zipfile.ZipFile(folder / "shipped.zip", "w") as archive:
        text = SHIPPED.format(name="shipped_min", result="min(accumulator, value)")
        archive.writestr("shipped_functions.py", text)
    late = SHIPPED.format(name="late_sum", result="accumulator + value")
    (folder / "late_functions.py").write_text(late)
    confs = session_confs("keyfold", str(folder / "warehouse")) | {
        "spark.keyfold.modules": "shipped_functions",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        **sessions.INTERPRETED,
        **sessions.BOTH_EXECUTORS,
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.shuffle.partitions": "4",
    }
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "spark-submit"),
            *("--master", "local-cluster[2,1,1024]", "--py-files", str(folder / "shipped.zip")),
            *shlex.split(submit_arguments(confs)),
            str(TOP / "integration" / "functions" / "own_functions.py"),
            str(folder / "late_functions.py"),
        ],
        cwd=folder,
        env=harness.environment({"PYSPARK_PYTHON": sys.executable}),
        capture_output=True,
        text=True,
        timeout=processes.DEADLINE,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(harness.ANSWER)]
    assert lines, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(harness.ANSWER))
    return found


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        ("weighted_max", [21, 11997]),
        ("sorted_words", ["1 2 3", "1 2 3"]),
        ("shipped_min", [7, 3999]),
        ("late_sum", [12, 12]),
    ],
)
def test_both_executors_run_it(answer: dict[str, Any], function: str, rows: list[Any]) -> None:
    assert answer["found"][function] == {"rows": rows, "query": rows, "processes": 2}


def test_a_session_without_it_is_told_how_to_provide_it(answer: dict[str, Any]) -> None:
    for error in (answer["unknown"], *answer["missing"][:2]):
        for words in ("keyfold.register(spark, function)", "keyfold.aggregates", "--py-files"):
            assert words in error
    assert "table keyfold.c.sorted_words" in answer["missing"][1]
    assert "'sorted_words'" in answer["missing"][1]
    assert answer["missing"][2] == "", "modules of the application are every session's"
    assert "'late_sum'" in answer["missing"][3]
    assert "(now shipped_functions)" in answer["missing"][3]


def test_an_installed_package_is_found_without_a_setting(tmp_path: Path) -> None:
    source, installed = tmp_path / "source", tmp_path / "installed"
    source.mkdir()
    (source / "pyproject.toml").write_text(PACKAGE)
    text = SHIPPED.format(name="installed_sum", result="accumulator + value") + ENGINE
    (source / "own_package.py").write_text(text)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command = [*pip, "--no-build-isolation", "--target", str(installed), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    found = harness.run("installed", tmp_path, str(installed))
    assert found == {"sums": [[1, 5]], "kept": [[1, 9]]}
