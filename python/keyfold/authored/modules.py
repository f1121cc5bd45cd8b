"""Python modules that hold users' functions: imported when one is asked for, never before.

Besides what Python finds by itself, modules come from where Spark puts the files of `--py-files`
and `addPyFile` on this machine, whose archives are looked into as Spark's own workers do.
"""

import importlib
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from keyfold.aggregates.declare import Combine, Fold, Gather, Pick
from keyfold.authored.function import Function
from keyfold.merge.declare import Engine

GROUPS = ("keyfold.aggregates", "keyfold.engines")
_ARCHIVES = {".zip", ".egg", ".whl"}


class Process:
    """State of this process: where Spark puts the files it ships, whether a user's module is being
    imported, and the functions of installed packages, or why they can't be imported.
    """

    shipped: Path | None = None
    is_importing = False
    installed: dict[EntryPoint, list[Any] | Exception] | None = None


def shipped_to(directory: Path | None) -> None:
    """Set where Spark puts the files it ships."""
    Process.shipped = directory


def is_importing() -> bool:
    """Whether a user's module is being imported: it may need what keyfold does without."""
    return Process.is_importing


def load(name: str) -> list[Any] | Exception:
    """The functions a module declares, or the exception it could not be imported with."""
    if name in sys.modules:
        return declared(vars(sys.modules[name]).values())
    _extend_path()
    return _imported(lambda: importlib.import_module(name))


def declared(things: Iterable[Any]) -> list[Any]:
    """Those that are functions of users', each once."""
    kinds = (Function, Pick, Fold, Gather, Combine, Engine)
    return list({id(thing): thing for thing in things if isinstance(thing, kinds)}.values())


def installed() -> dict[EntryPoint, list[Any] | Exception]:
    """The functions that each entry point of installed packages gives, or an exception."""
    if Process.installed is None:
        points = [point for group in GROUPS for point in entry_points(group=group)]
        Process.installed = {point: _imported(point.load) for point in points}
    return Process.installed


def _imported(load: Callable[[], Any]) -> list[Any] | Exception:
    importlib.invalidate_caches()
    Process.is_importing = True
    try:
        found = load()
    except Exception as error:  # a user's module may raise anything
        return error
    finally:
        Process.is_importing = False
    return declared(vars(found).values() if isinstance(found, ModuleType) else [found])


def _extend_path() -> None:
    """Shipped files come last: they hide nothing that is installed."""
    if Process.shipped is None or not Process.shipped.is_dir():
        return
    archives = [file for file in Process.shipped.iterdir() if file.suffix in _ARCHIVES]
    sys.path += [str(p) for p in (Process.shipped, *sorted(archives)) if str(p) not in sys.path]
