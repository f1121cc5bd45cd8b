"""What `import keyfold` and `import keyfold.testing` show: the names users call, and no others."""

import inspect
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
