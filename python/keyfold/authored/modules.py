"""Python modules that hold users' functions: imported when one is asked for, never before.

Besides what Python finds by itself, modules come from where Spark puts the files of `--py-files`
and `addPyFile` on this machine, whose archives are looked into as Spark's own workers do.
"""

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from keyfold.aggregates.declare import Combine, Fold, Gather, Pick
from keyfold.authored.function import Function
from keyfold.merge.declare import Engine

GROUPS = ("keyfold.aggregates", "keyfold.engines")
_ARCHIVES = {".zip", ".egg", ".whl"}


class _State:
    """Of this process: where Spark puts files, whether a user's module is being imported, and what
    installed packages gave, or why they didn't.
    """

    shipped: Path | None = None
    is_importing = False
    installed: dict[EntryPoint, Any] | None = None


def shipped_to(directory: Path | None) -> None:
    """Say where Spark puts the files it ships."""
    _State.shipped = directory


def is_importing() -> bool:
    """Whether a user's module is being imported: it may need what keyfold does without."""
    return _State.is_importing


def load(name: str) -> Any:
    """The functions a module declares, or the exception it could not be imported with."""
    if name in sys.modules:
        return declared(vars(sys.modules[name]).values())
    _extend_path()
    try:
        with _importing():
            module = importlib.import_module(name)
    except Exception as error:  # a user's module may raise anything
        return error
    return declared(vars(module).values())


def declared(things: Iterable[Any]) -> list[Any]:
    """Those that are functions of users', each once."""
    kinds = (Function, Pick, Fold, Gather, Combine, Engine)
    return list({id(thing): thing for thing in things if isinstance(thing, kinds)}.values())


def installed() -> dict[EntryPoint, Any]:
    """What the entry points of installed packages give: functions, or an exception."""
    if _State.installed is None:
        _State.installed = {
            point: _loaded(point) for group in GROUPS for point in entry_points(group=group)
        }
    return _State.installed


def _loaded(point: EntryPoint) -> Any:
    try:
        with _importing():
            found = point.load()
    except Exception as error:  # a user's module may raise anything
        return error
    return declared(vars(found).values() if isinstance(found, ModuleType) else [found])


@contextmanager
def _importing() -> Iterator[None]:
    importlib.invalidate_caches()
    _State.is_importing = True
    try:
        yield
    finally:
        _State.is_importing = False


def _extend_path() -> None:
    """Shipped files stand last: they hide nothing that is installed."""
    if _State.shipped is None or not _State.shipped.is_dir():
        return
    archives = [file for file in _State.shipped.iterdir() if file.suffix in _ARCHIVES]
    sys.path += [str(p) for p in (_State.shipped, *sorted(archives)) if str(p) not in sys.path]
