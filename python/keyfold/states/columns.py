"""The columns of a table that hold aggregate states, by its options."""

from collections.abc import Mapping
from typing import Any

from keyfold.errors import KeyfoldError
from keyfold.states.signature import parse

STATE = "agg-state"


def state_json(options: Mapping[str, str], name: str) -> dict[str, Any] | None:
    """The signature of a column's states as the JVM gets it; None if it has no states."""
    text = options.get(f"fields.{name}.{STATE}")
    if text is None:
        return None
    try:
        found = parse(text)
    except KeyfoldError:  # a table of a later version: it can be described
        return {"signature": text, "declared": text, "required": []}
    required = list(found.required)
    return {"signature": found.text, "declared": found.declared, "required": required}
