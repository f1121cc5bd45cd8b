"""Checks of the columns that each write sets (`fields.<column>.on-write`)."""

from __future__ import annotations

from keyfold.errors import TableError
from keyfold.options.column_options import NOW, ON_WRITE, sequence_group_of
from keyfold.options.declared import TableOptions
from keyfold.options.values import given as parsed
from keyfold.options.values import one_of
from keyfold.types.logical import describe
from keyfold.wire.layout import TableLayout

_KIND = "TIMESTAMP_LTZ"


def check_on_write(layout: TableLayout, options: TableOptions) -> None:
    """Raises TableError if a column can't be one that each write sets."""
    users = {
        "the primary key": layout.primary_key,
        "sequence.field": options.sequence_fields,
        "rowkind.field": (options.rowkind_field,),
        "table.merge-engine.versioned.ver-column": (options.version_column,),
        TableOptions.id_columns.name: options.id_columns,
    }
    for name in options.on_write:
        where = f"table {layout.name}, option fields.{name}.{ON_WRITE}"
        if not layout.has_column(name):
            continue  # refused where options name columns
        parsed(where, options.field_options(name).get(ON_WRITE, ""), one_of(NOW))
        column = layout.column(name)
        if getattr(column.type, "name", None) != _KIND:
            raise TableError(
                f"{where}: column {name} is {describe(column.type)}; expected TIMESTAMP (of Paimon "
                f"{_KIND}), which is a point in time"
            )
        for what, columns in users.items():
            if name in columns:
                raise TableError(f"{where}: column {name} is in {what} too, whose values come in")
        if (group := sequence_group_of(layout.options, name)) is not None:
            raise TableError(
                f"{where}: column {name} is in {group}, by which a record that comes late would "
                "not bring its time; leave it out of the group"
            )
        if not column.type.nullable or column.default is not None:
            raise TableError(
                f"{where}: column {name} is NOT NULL or has a DEFAULT, by which statements give it "
                "a value; leave that out: each write gives one"
            )
