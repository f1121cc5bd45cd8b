"""A session's own functions: registered ones first, then those of modules, then installed ones.

Nothing is loaded before a name is asked for that keyfold itself doesn't have.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from keyfold.aggregates import spelling
from keyfold.aggregates.provided import Kind
from keyfold.authored import modules, shipping
from keyfold.authored.declare import aggregate_of, engine_of
from keyfold.authored.function import Function
from keyfold.errors import FunctionError
from keyfold.merge.declare import Engine

MODULES = "spark.keyfold.modules"


@cache
def declaration(thing: Any) -> Any:
    """The internal form of what a user declared."""
    if isinstance(thing, Function):
        return engine_of(thing) if thing.form == "engine" else aggregate_of(thing)
    return thing


def kind_of(thing: Any) -> Kind:
    """Which of the two a user declared."""
    is_engine = isinstance(thing, Engine) or getattr(thing, "form", "") == "engine"
    return "engines" if is_engine else "aggregates"


@dataclass(frozen=True)
class Sources:
    """What one session says of its functions; `registered` is text by name (shipping.py)."""

    modules: tuple[str, ...] = ()
    registered: Mapping[str, str] | None = None

    @staticmethod
    def from_json(json: Mapping[str, Any] | None) -> "Sources":
        """What the JVM, or a scan or write, says; None says nothing."""
        said = json or {}
        listed = [name.strip() for name in (said.get("modules") or "").split(",")]
        return Sources(tuple(filter(None, listed)), said.get("registered") or {})

    def for_options(self, options: Mapping[str, str]) -> dict[str, Any]:
        """What a table with these options needs of it, as JSON."""
        named = {spelling(text) for text in options.values()}
        needed = {n: text for n, text in (self.registered or {}).items() if spelling(n) in named}
        return {"modules": ",".join(self.modules), "registered": needed}

    def find(self, kind: Kind, name: str) -> Any:
        """The declaration of that name; FunctionError where two modules declare it."""
        for found in self._layers(name):
            fitting = [
                (place, thing)
                for place, thing in found
                if spelling(thing.name) == spelling(name) and kind_of(thing) == kind
            ]
            if len({id(thing) for _, thing in fitting}) > 1:
                places = " and ".join(place for place, _ in fitting)
                raise FunctionError(f"two functions are named '{name}': in {places}; rename one")
            if fitting:
                return declaration(fitting[0][1])
        return None

    def names(self, kind: Kind) -> list[str]:
        """All names there are."""
        layers = self._layers(None)
        return sorted({t.name for found in layers for _, t in found if kind_of(t) == kind})

    def explain(self, kind: Kind) -> str:
        """Where was looked, what failed there, and how to add a function."""
        listed = f" (now {', '.join(self.modules)})" if self.modules else ""
        failed = [
            f"{place} can't be imported by {sys.executable}: {type(error).__name__}: {error}."
            for place, error in self._failures()
        ]
        return " ".join(
            [
                "Functions of your own are looked up among those of keyfold.register(spark, "
                f"function) in this session, in the modules that {MODULES} lists{listed}, shipped "
                "with --py-files or installed, and in the entry points keyfold."
                f"{kind} of installed packages.",
                *failed,
            ]
        )

    def _layers(self, name: str | None) -> Iterator[list[tuple[str, Any]]]:
        """Functions with their places, the sources that count first first."""
        registered = self.registered or {}
        yield [
            ("keyfold.register", shipping.loads(text))
            for own, text in registered.items()
            if name is None or spelling(own) == spelling(name)
        ]
        yield [
            (f"module {module}", thing)
            for module, found in ((module, modules.load(module)) for module in self.modules)
            if isinstance(found, list)
            for thing in found
        ]
        yield [
            (f"entry point {point.name} = {point.value}", thing)
            for point, found in modules.installed().items()
            if isinstance(found, list)
            for thing in found
        ]

    def _failures(self) -> Iterator[tuple[str, Exception]]:
        for module in self.modules:
            if isinstance(found := modules.load(module), Exception):
                yield f"Module {module}", found
        for point, found in modules.installed().items():
            if isinstance(found, Exception):
                yield f"Entry point {point.name} = {point.value}", found
