"""A session's own functions: registered ones first, then those of modules, then installed ones.

Nothing is loaded before the look-up of a name that keyfold itself doesn't have. Modules are those
Python finds by itself, and the files of `--py-files` and `addPyFile` that Spark puts on this
machine. Archives among these are searched as in Spark's own workers.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from keyfold.aggregates import spelling
from keyfold.aggregates.declaration import Fold, Pick
from keyfold.errors import FunctionError
from keyfold.merge.engine import Engine
from keyfold.options.provided import Kind
from keyfold.user_functions import shipping
from keyfold.user_functions.decorators import aggregate_of, engine_of
from keyfold.user_functions.user_function import UserFunction

MODULES = "spark.keyfold.modules"
# A place in words, with its functions or the reason why it can't be imported.
Places = list[tuple[str, list[Any] | Exception]]
GROUPS = ("keyfold.aggregates", "keyfold.engines")
_ARCHIVES = {".zip", ".egg", ".whl"}


@cache
def declaration(thing: Any) -> Any:
    """The internal form of a user's declaration."""
    if isinstance(thing, UserFunction):
        return engine_of(thing) if thing.form == "engine" else aggregate_of(thing)
    return thing


def kind_of(thing: Any) -> Kind:
    """The kind of a user's declaration: aggregate or engine."""
    is_engine = isinstance(thing, Engine) or getattr(thing, "form", "") == "engine"
    return "engines" if is_engine else "aggregates"


@dataclass(frozen=True)
class Sources:
    """The places of one session's functions; `registered` is text by name (shipping.py)."""

    modules: tuple[str, ...] = ()
    registered: Mapping[str, str] | None = None

    @staticmethod
    def from_json(json: Mapping[str, Any] | None) -> "Sources":
        """The sources that the JVM, a scan or a write names; empty ones if `json` is None."""
        found = json or {}
        listed = [name.strip() for name in (found.get("modules") or "").split(",")]
        return Sources(tuple(filter(None, listed)), found.get("registered") or {})

    def for_options(self, options: Mapping[str, str]) -> dict[str, Any]:
        """The part that a table with these options needs, also of their signatures, as JSON."""
        named = {spelling(text.partition("(")[0]) for text in options.values()}
        needed = {n: text for n, text in (self.registered or {}).items() if spelling(n) in named}
        return {"modules": ",".join(self.modules), "registered": needed}

    def find(self, kind: Kind, name: str) -> Any:
        """The declaration of that name, or None. Raises FunctionError if two modules declare it."""
        for places in self._layers(name):
            fitting = [
                (place, thing)
                for place, thing in _things(places)
                if spelling(thing.name) == spelling(name) and kind_of(thing) == kind
            ]
            if len({id(thing) for _, thing in fitting}) > 1:
                where = " and ".join(place for place, _ in fitting)
                raise FunctionError(f"two functions are named '{name}': in {where}; rename one")
            if fitting:
                return declaration(fitting[0][1])
        return None

    def names(self, kind: Kind) -> list[str]:
        """All names."""
        things = [thing for places in self._layers(None) for _, thing in _things(places)]
        return sorted({thing.name for thing in things if kind_of(thing) == kind})

    def explain(self, kind: Kind) -> str:
        """The places that are searched, what failed there, and how to add a function."""
        listed = f" (now {', '.join(self.modules)})" if self.modules else ""
        failed = [
            f" {place[0].upper()}{place[1:]} can't be imported by {sys.executable}: "
            f"{type(error).__name__}: {error}."
            for places in self._imported()
            for place, error in places
            if isinstance(error, Exception)
        ]
        return (
            "Functions of your own are looked up among those of keyfold.register(spark, function) "
            f"in this session, in the modules that {MODULES} lists{listed}, shipped with "
            f"--py-files or installed, and in the entry points keyfold.{kind} of installed "
            f"packages.{''.join(failed)}"
        )

    def _layers(self, name: str | None) -> Iterator[Places]:
        """The sources, highest priority first; registered functions only of that name, if any."""
        registered = [
            shipping.loads(text)
            for own, text in (self.registered or {}).items()
            if name is None or spelling(own) == spelling(name)
        ]
        yield [("keyfold.register", registered)]
        yield from self._imported()

    def _imported(self) -> Iterator[Places]:
        yield [(f"module {module}", load(module)) for module in self.modules]
        yield [
            (f"entry point {point.name} = {point.value}", found)
            for point, found in installed().items()
        ]


def _things(places: Places) -> list[tuple[str, Any]]:
    return [(place, thing) for place, of in places if isinstance(of, list) for thing in of]


class UserModules:
    """State of this process: the folder of files that Spark ships, whether a user's module is being
    imported, and the functions of installed packages or the reason why the import failed.
    """

    shipped: Path | None = None
    is_importing = False
    installed: dict[EntryPoint, list[Any] | Exception] | None = None


def shipped_to(directory: Path | None) -> None:
    """Set the folder in which Spark puts the files it ships."""
    UserModules.shipped = directory


def is_importing() -> bool:
    """Whether a user's module is being imported: it may need modules keyfold does without."""
    return UserModules.is_importing


def load(name: str) -> list[Any] | Exception:
    """The functions a module declares, or the exception that its import raised."""
    if name in sys.modules:
        return declared(vars(sys.modules[name]).values())
    _extend_path()
    return _imported(lambda: importlib.import_module(name))


def declared(things: Iterable[Any]) -> list[Any]:
    """The users' functions among `things`, each once."""
    kinds = (UserFunction, Pick, Fold, Engine)
    return list({id(thing): thing for thing in things if isinstance(thing, kinds)}.values())


def installed() -> dict[EntryPoint, list[Any] | Exception]:
    """The functions that each entry point of installed packages gives, or an exception."""
    if UserModules.installed is None:
        points = [point for group in GROUPS for point in entry_points(group=group)]
        UserModules.installed = {point: _imported(point.load) for point in points}
    return UserModules.installed


def _imported(load: Callable[[], Any]) -> list[Any] | Exception:
    importlib.invalidate_caches()
    UserModules.is_importing = True
    try:
        found = load()
    except Exception as error:  # a user's module may raise anything
        return error
    finally:
        UserModules.is_importing = False
    return declared(vars(found).values() if isinstance(found, ModuleType) else [found])


def _extend_path() -> None:
    """Append shipped files to the path: they come last, so they hide no installed module."""
    if UserModules.shipped is None or not UserModules.shipped.is_dir():
        return
    archives = [file for file in UserModules.shipped.iterdir() if file.suffix in _ARCHIVES]
    sys.path += [str(p) for p in (UserModules.shipped, *sorted(archives)) if str(p) not in sys.path]
