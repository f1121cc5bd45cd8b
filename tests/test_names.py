"""What `import keyfold` and `import keyfold.testing` show: the names users call, and no others."""

import inspect
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import keyfold
import keyfold.testing


@pytest.mark.parametrize("module", [keyfold, keyfold.functions, keyfold.testing])
def test_what_is_listed_is_what_users_call(module: ModuleType) -> None:
    shown = [name for name in dir(module) if not name.startswith("__")]
    assert shown == sorted(module.__all__)
    for name in shown:
        found = getattr(module, name)
        if found is not keyfold.functions:
            assert callable(found)
            assert found.__module__.startswith("keyfold.")
        assert inspect.getdoc(found)


def test_what_is_loaded_late_is_listed_too() -> None:
    assert {"aggregate", "engine", "register", "__version__", "__doc__"} <= set(dir(keyfold))
    assert not {"sys", "importlib", "Any"} & set(dir(keyfold))


def test_the_version() -> None:
    assert keyfold.__version__ == metadata.version("keyfold")


def test_a_name_that_is_missing() -> None:
    assert not hasattr(keyfold, "agregate")


def test_every_form_of_a_decorator_says_what_it_takes() -> None:
    late = (keyfold.aggregate, keyfold.engine, keyfold.register, keyfold.configure)
    for found in (*late[1:], *map(late[0].__getattribute__, ("pick", "combine", "gather"))):
        words = inspect.getdoc(found) or ""
        assert "Args:" in words
        assert "Raises:" in words


USER = """
from typing import Any
import keyfold

@keyfold.aggregate("BIGINT", identity=0, retract=lambda total, value: total - value)
def added(total: int, value: int) -> int:
    return total + value

@keyfold.engine({"version": "BIGINT"})
def newest(kept: Any, row: Any) -> bool:
    return bool(row.version > kept.version)

spark: Any = None
reveal_type(added)
reveal_type(newest)
reveal_type(keyfold.configure(spark, warehouse="/tmp"))
reveal_type(keyfold.register(spark, added, newest))
reveal_type(keyfold.__version__)
keyfold.aggregate.pick("INT", nulls="see")
keyfold.aggregate("INT", nulls="never")
keyfold.configure(spark, warehouse=1)
keyfold.agregate("INT")
"""


def test_a_type_checker_sees_them_all(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "user.py"),
            *("--config-file", str(root / "pyproject.toml")),
            *("--cache-dir", str(tmp_path / "cache")),
        ],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(root / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = re.findall(r'Revealed type is "(?:keyfold\.)?([^"]+)"', done.stdout)
    function = "user_functions.user_function.UserFunction"
    assert shown == [function, function, "Any", "None", "str"]
    refused = re.findall(r"user\.py:(\d+): error: ", done.stdout)
    lines = USER.splitlines()
    assert [lines[int(number) - 1].partition("(")[0] for number in refused] == [
        "keyfold.aggregate.pick",
        "keyfold.aggregate",
        "keyfold.configure",
        "keyfold.agregate",
    ]


def test_the_console_script_is_the_command_line() -> None:
    project = (Path(__file__).resolve().parent.parent / "pyproject.toml").read_text()
    place = re.search(r'\[project\.scripts\]\nkeyfold = "(.*):(.*)"', project)
    assert place is not None
    found = subprocess.run(
        [sys.executable, "-c", f"from {place[1]} import {place[2]}; {place[2]}()", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == keyfold.__version__
