"""What `import keyfold` and `import keyfold.testing` show: the names users call, and no others."""

import inspect
from importlib import metadata
from types import ModuleType

import pytest

import keyfold
import keyfold.testing


@pytest.mark.parametrize("module", [keyfold, keyfold.testing])
def test_what_is_listed_is_what_users_call(module: ModuleType) -> None:
    shown = [name for name in dir(module) if not name.startswith("__")]
    assert shown == sorted(module.__all__)
    for name in shown:
        found = getattr(module, name)
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
