"""The merge engines, each a module of this folder, found by `keyfold.options.engines`."""

from keyfold.errors import NotSupportedError
from keyfold.merge.engine import Engine
from keyfold.options import provided
from keyfold.options.engines import engines, find
from keyfold.options.values import shown


def engine(name: str, table: str) -> Engine:
    """The engine of that name, keyfold's or the user's. Raises NotSupportedError, with all names,
    if there is no such engine.
    """
    found: Engine | None = find(name)
    if found is None:
        known = ", ".join([*sorted(engines()), *provided.names("engines")])
        raise NotSupportedError(
            f"option merge-engine of table {table}: expected one of {known}, found "
            f"'{shown(name)}', which is not supported.{provided.explain('engines')}"
        )
    return found
