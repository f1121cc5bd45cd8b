"""The columns and properties of a table as Spark shows them."""

from typing import Any

from keyfold.aggregates.states.bound_signatures import state_json
from keyfold.options.declared import DEFAULT_PREFIX, INITIAL_PREFIX
from keyfold.storage.schema.defaults import as_text
from keyfold.types import spark as spark_types
from keyfold.wire.layout import Column, TableLayout


def column_json(layout: TableLayout, column: Column) -> dict[str, Any]:
    """A column as the JVM shows it to Spark."""
    is_foreign = column.default is not None and (DEFAULT_PREFIX + column.name not in layout.options)
    state = state_json(layout.options, column.name)
    comment = column.comment if state is None else _of_states(state["declared"], column.comment)
    return spark_types.column_json(column.name, column.type, comment) | {
        "id": str(column.id),
        "default": column.default,
        "default_text": as_text(column) if is_foreign else None,
        "state": state,
    }


def _of_states(declared: str, comment: str | None) -> str:
    """The comment of a column of states: of what they are, then its own. A statement that repeats
    what is shown repeats that.
    """
    shown = f"AGG_STATE<{declared}>"
    own = (comment or "").removeprefix(shown).removeprefix("; ")
    return f"{shown}; {own}" if own else shown


def shown_properties(layout: TableLayout) -> dict[str, str]:
    """Options as SHOW TBLPROPERTIES has them, with the primary key, the comment and the place."""
    hidden = (DEFAULT_PREFIX, INITIAL_PREFIX)
    shown = {k: v for k, v in layout.options.items() if not k.startswith(hidden)}
    if layout.primary_key:
        shown["primary-key"] = ",".join(layout.primary_key)
    if layout.comment is not None:
        shown["comment"] = layout.comment
    return {**shown, "location": layout.location, "is_managed_location": "true"}
