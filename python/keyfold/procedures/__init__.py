"""The procedures: `CALL <catalog>.sys.<name>(table => …)`. Every module of this folder that
declares a `Procedure` adds it, by its name.
"""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from keyfold.procedures.declare import Procedure


@cache
def procedures() -> Mapping[str, Procedure]:
    """All procedures by name. Raises ValueError if two have one name."""
    named: dict[str, Procedure] = {}
    for module in pkgutil.iter_modules(__path__):
        for found in vars(import_module(f"{__name__}.{module.name}")).values():
            if isinstance(found, Procedure) and named.setdefault(found.name, found) is not found:
                raise ValueError(
                    f"procedure {found.name} is declared twice, again in {module.name}"
                )
    return dict(sorted(named.items()))
