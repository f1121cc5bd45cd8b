"""The aggregates. Every module of this folder that declares an `Aggregate` adds it, by name and
alias. Users' own are found as `provided` says.
"""

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module

from keyfold.aggregates.declaration import Aggregate
from keyfold.options import provided


def by_name(found: Iterable[tuple[str, Aggregate]]) -> dict[str, Aggregate]:
    """Aggregates by name and alias. Two that claim one name are refused: the error names the
    module of the second.
    """
    named: dict[str, Aggregate] = {}
    for module, aggregate in found:
        for name in map(spelling, (aggregate.name, *aggregate.aliases)):
            if named.setdefault(name, aggregate) is not aggregate:
                raise ValueError(f"aggregate {name} is declared twice, again in {module}")
    return named


def spelling(name: str) -> str:
    """A function's name as Fluss looks it up: letter case does not matter, `-` is `_`."""
    return name.strip().lower().replace("-", "_")


@cache
def aggregates() -> dict[str, Aggregate]:
    """All aggregates by the `spelling` of the names `fields.<column>.aggregate-function` gives."""
    modules = [
        import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    return by_name(
        (module.__name__, value)
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Aggregate)
    )


def find(name: str) -> Aggregate | None:
    """The aggregate of that name or alias, keyfold's or the user's; None if there is not one."""
    return aggregates().get(spelling(name)) or provided.find("aggregates", spelling(name))
