"""A session's own functions: registered ones first, then those of modules, then installed ones.

Nothing is loaded before the look-up of a name that keyfold itself doesn't have.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from keyfold.aggregates import spelling
from keyfold.authored import modules, shipping
from keyfold.authored.declare import aggregate_of, engine_of
from keyfold.authored.function import Function
from keyfold.errors import FunctionError
from keyfold.merge.declare import Engine
from keyfold.options.provided import Kind

MODULES = "spark.keyfold.modules"
# A place in words, with its functions or the reason why it can't be imported.
Places = list[tuple[str, list[Any] | Exception]]


@cache
def declaration(thing: Any) -> Any:
    """The internal form of a user's declaration."""
    if isinstance(thing, Function):
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
        yield [(f"module {module}", modules.load(module)) for module in self.modules]
        yield [
            (f"entry point {point.name} = {point.value}", found)
            for point, found in modules.installed().items()
        ]


def _things(places: Places) -> list[tuple[str, Any]]:
    return [(place, thing) for place, of in places if isinstance(of, list) for thing in of]
