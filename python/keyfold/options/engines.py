"""Traits of merge engines: all that options, storage, writing and compaction know of one.

An engine is a module below `keyfold.merge.engines`, found by listing that folder, or a user's,
found where `provided` looks. Its name is in its own declaration only.
"""

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from keyfold.errors import FunctionError
from keyfold.options import provided
from keyfold.options.option import Option
from keyfold.wire.layout import TableLayout

_FOLDER = "keyfold.merge.engines"


@dataclass(frozen=True, eq=False)
class Traits:
    """The properties of an engine that can be known without merging.

    `is_default`: tables that name no engine have it. `keeps_records`: a result is one of the
    records as it came, so that rows of different arrivals fold in any grouping and the sequence
    decides. `folds_columns`: columns fold by the aggregates that options name, and an INSERT of
    some columns leaves the others alone. `takes_partial_writes`: a write may name some columns by
    `target-columns`. `keeps_oldest`: a record gives way to any older one, so that a compacted file
    has no key of the levels below. `hides_level_0`: Paimon's batch readers ignore level 0 of such
    tables, so that compaction leaves nothing there.
    `elsewhere` are its names in other systems. `fluss_deletes` are the options by which Fluss'
    deletes remove rows, None if it takes no deletes. `options` are its own: every table knows those
    of keyfold's engines, only tables that name the engine know those of a user's. `aliases` are
    other names of other options. `refuses` raises if options don't go with the engine; it runs
    before the check for unsupported options.
    """

    name: str
    _: KW_ONLY
    is_default: bool = False
    keeps_records: bool = False
    folds_columns: bool = False
    takes_partial_writes: bool = False
    keeps_oldest: bool = False
    hides_level_0: bool = False
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fluss_deletes: dict[str, str] | None = None
    options: tuple[Option[Any], ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    refuses: Callable[[TableLayout], None] = lambda layout: None

    def __post_init__(self) -> None:
        """Raises FunctionError if the default of an option is not one of its values."""
        for option in self.options:
            try:
                _ = option.unnamed
            except Exception as error:  # of a user's `parse`
                is_usual = isinstance(error, ValueError)
                why = f"expected {error}" if is_usual else f"{type(error).__name__}: {error}"
                raise FunctionError(
                    f"merge engine '{self.name}': option {option.name} does not take its own "
                    f"default {option.default!r}: {why}; declare one that it takes, or None"
                ) from error


def by_name(found: Iterable[tuple[str, Traits]]) -> dict[str, Any]:
    """Engines by name; raises ValueError if two modules declare one name."""
    named: dict[str, Traits] = {}
    for module, engine in found:
        if named.setdefault(engine.name, engine) is not engine:
            raise ValueError(f"merge engine {engine.name} is declared twice, again in {module}")
    return named


@cache
def engines() -> dict[str, Any]:
    """keyfold's own engines by name."""
    folder = import_module(_FOLDER)
    walked = pkgutil.walk_packages(folder.__path__, f"{_FOLDER}.")
    modules = [import_module(module.name) for module in walked]
    return by_name(
        (module.__name__, value)
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Traits)
    )


def find(name: str) -> Any:
    """The engine of that name, keyfold's or the user's; None if there is not one."""
    return engines().get(name) or provided.find("engines", name)


def traits(name: str) -> Traits:
    """The traits of an engine; an unknown one has those that promise nothing."""
    try:
        found: Traits | None = find(name)
    except FunctionError:  # two modules of the user's declare it: merging reports that
        found = None
    return found or Traits(name)


@cache
def default() -> Traits:
    """The engine of tables that name none."""
    found: Traits = next(engine for engine in engines().values() if engine.is_default)
    return found


def called(system: str) -> dict[str, Traits]:
    """The engines that another system has, by its names for them."""
    return {name: one for one in engines().values() for name in one.elsewhere.get(system, ())}
