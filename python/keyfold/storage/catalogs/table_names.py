"""Names of tables: `shop.stock`, `stock` in namespace `default`, or a path."""

from __future__ import annotations

import os
import re
from pathlib import Path

from keyfold.errors import TableError
from keyfold.storage.catalogs.namespaces import DEFAULT
from keyfold.storage.catalogs.path_tables import NAMELESS, is_path
from keyfold.stores.local import local_path

_PATH = re.compile(r"/|\.{1,2}/|~|[A-Za-z][A-Za-z0-9+.-]*:")  # where it begins
_PART = re.compile(r"(?:`((?:[^`]|``)+)`|([^.`]+))(\.|$)")


def parsed(name: str | os.PathLike[str]) -> tuple[str, str]:
    """The namespace of a table and its name there; of a path, no namespace and the whole path.
    Raises TableError if it is neither.
    """
    text = os.fspath(name)
    if is_path([], text) and _PATH.match(text) is None:
        raise TableError(
            f"'{text}' is not a name of a table, as it has a slash; of a path in the folder of the "
            f"process, write ./{text}"
        )
    if is_path([], text):
        local = local_path(text)
        return NAMELESS, text if local is None else str(Path(local).expanduser().absolute())
    parts, at = [], 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            raise _wrong(text)
        quoted, plain, _ = found.groups()
        parts.append(plain if quoted is None else quoted.replace("``", "`"))
        at = found.end()
    if len(parts) not in (1, 2) or text.endswith("."):
        raise _wrong(text)
    return (parts[0], parts[1]) if len(parts) == 2 else (DEFAULT, parts[0])


def _wrong(text: str) -> TableError:
    return TableError(
        f"'{text}' is not a name of a table: expected namespace.table, a table of namespace "
        f"{DEFAULT}, or a path with a slash; a name with a dot stands in backticks"
    )
