"""The merge engines: every module below this folder that declares an `Engine` has it, by name."""

import pkgutil
from functools import cache
from importlib import import_module

from keyfold.aggregates import provided
from keyfold.errors import NotSupportedError
from keyfold.merge.declare import Engine


def collect(found: list[tuple[str, Engine]]) -> dict[str, Engine]:
    """Engines by name; two modules that declare one name are refused."""
    named: dict[str, Engine] = {}
    for module, engine in found:
        if named.setdefault(engine.name, engine) is not engine:
            raise ValueError(f"merge engine {engine.name} is declared twice, again in {module}")
    return named


@cache
def engines() -> dict[str, Engine]:
    """All engines by the name `merge-engine` gives."""
    modules = [import_module(m.name) for m in pkgutil.walk_packages(__path__, f"{__name__}.")]
    return collect(
        [
            (m.__name__, value)
            for m in modules
            for value in vars(m).values()
            if isinstance(value, Engine)
        ]
    )


def engine(name: str, table: str) -> Engine:
    """The engine of that name, keyfold's or the user's; NotSupportedError naming all there are."""
    found: Engine | None = engines().get(name) or provided.engine(name)
    if found is None:
        known = ", ".join([*sorted(engines()), *provided.names("engines")])
        raise NotSupportedError(
            f"option merge-engine of table {table}: expected one of {known}, found '{name}', "
            f"which is not supported.{provided.explain('engines')}"
        )
    return found
