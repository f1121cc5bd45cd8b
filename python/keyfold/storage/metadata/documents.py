"""JSON of snapshots, schemas and similar files, no deeper than any writer nests it."""

import json
from typing import Any

_DEPTH = 200  # a type in a type takes three


def document(data: bytes) -> Any:
    """The JSON value. Raises ValueError if the bytes are not JSON, or nested too deep."""
    try:
        found = json.loads(data)
    except RecursionError:
        raise _too_deep() from None
    level = [found]
    for _ in range(_DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return found
    raise _too_deep()


def _inside(found: Any) -> list[Any]:
    values = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [value for value in values if isinstance(value, dict | list)]


def _too_deep() -> ValueError:
    return ValueError(f"it is nested deeper than {_DEPTH} levels")
