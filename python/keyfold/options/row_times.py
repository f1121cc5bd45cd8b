"""The column that says how old a row is, and the units of its numbers."""

from keyfold.errors import TableError
from keyfold.options.declared import TableOptions
from keyfold.options.values import shown
from keyfold.types import logical
from keyfold.wire.layout import TableLayout

MILLIS = "millis-long"
_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ")
# The types of a column for each unit of its numbers.
_UNITS = {
    "seconds-int": ("INT",),
    "seconds-long": ("BIGINT",),
    MILLIS: ("BIGINT",),
    "timestamp": _TIMES,
}


def check_row_times(layout: TableLayout, options: TableOptions) -> None:
    """Raises TableError, in Paimon's words, if rows are to go by their age and no column of the
    table says it; also if changelogs would have to show it that hold what was written again.
    """
    if options.row_seconds is None:
        return
    table, name, unit = layout.name, options.row_time, options.row_time_unit
    if name is None:
        raise TableError(
            f"table {table}: You should set time field for record-level expire: "
            f"{TableOptions.row_time.name} names the column that says how old a row is"
        )
    if not layout.has_column(name):
        raise TableError(
            f"option {TableOptions.row_time.name} of table {table}: Can not find time field "
            f"{shown(name)} for record level expire."
        )
    kind = layout.column(name).type
    root = getattr(kind, "name", None)
    if root not in ("INT", "BIGINT", *_TIMES):
        raise TableError(
            f"option {TableOptions.row_time.name} of table {table}: The record level time field "
            "type should be one of INT, BIGINT, or TIMESTAMP, but field type is "
            f"{logical.describe(kind)}."
        )
    if unit is not None and root not in _UNITS[unit]:
        raise TableError(
            f"option {TableOptions.row_time_unit.name} of table {table}: {unit} is for a column of "
            f"type {' or '.join(_UNITS[unit])}, but {name} is {logical.describe(kind)}"
        )
    if options.row_changes and not options.changelog_deduplicates:
        raise TableError(
            f"table {table}: {TableOptions.row_changes.name} = true is not possible with "
            f"{TableOptions.changelog_deduplicates.name} = false: set one of them"
        )
