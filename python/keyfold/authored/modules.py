"""Python modules that hold users' functions, imported only when one is asked for.

Modules are those Python finds by itself, and the files of `--py-files` and `addPyFile` that Spark
puts on this machine. Archives among these are searched as in Spark's own workers.
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
    """State of this process: the folder of files that Spark ships, whether a user's module is being
    imported, and the functions of installed packages or the reason why the import failed.
    """

    shipped: Path | None = None
    is_importing = False
    installed: dict[EntryPoint, list[Any] | Exception] | None = None


def shipped_to(directory: Path | None) -> None:
    """Set the folder in which Spark puts the files it ships."""
    Process.shipped = directory


def is_importing() -> bool:
    """Whether a user's module is being imported: it may need modules keyfold does without."""
    return Process.is_importing


def load(name: str) -> list[Any] | Exception:
    """The functions a module declares, or the exception that its import raised."""
    if name in sys.modules:
        return declared(vars(sys.modules[name]).values())
    _extend_path()
    return _imported(lambda: importlib.import_module(name))


def declared(things: Iterable[Any]) -> list[Any]:
    """The users' functions among `things`, each once."""
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
    """Append shipped files to the path: they come last, so they hide no installed module."""
    if Process.shipped is None or not Process.shipped.is_dir():
        return
    archives = [file for file in Process.shipped.iterdir() if file.suffix in _ARCHIVES]
    sys.path += [str(p) for p in (Process.shipped, *sorted(archives)) if str(p) not in sys.path]
