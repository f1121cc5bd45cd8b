"""Checks of the auto-increment column (`auto-increment.fields`), in the words of Fluss where it has
some.
"""

from __future__ import annotations

from keyfold.errors import NotSupportedError, TableError
from keyfold.options.column_options import sequence_group_of
from keyfold.options.declared import TableOptions
from keyfold.types.logical import describe
from keyfold.wire.layout import TableLayout

OPTION = TableOptions.id_columns.name
# All records of a key hold one id, or NULL, so that these give it back.
_KEEPING = ("last_non_null_value", "first_non_null_value", "max", "min")


def id_column(options: TableOptions) -> str | None:
    """The auto-increment column, if the table has one."""
    return options.id_columns[0] if options.id_columns else None


def check_ids(layout: TableLayout, options: TableOptions) -> None:
    """Raises TableError if the table's auto-increment column can't be one."""
    if not options.id_columns:
        return
    where = f"table {layout.name}, option {OPTION}"
    if len(options.id_columns) > 1:
        raise TableError(
            f"{where}: Multiple auto increment columns are not supported yet; found "
            f"{', '.join(options.id_columns)}"
        )
    (name,) = options.id_columns
    if not layout.has_column(name):
        raise TableError(f"{where}: Column: '{name}' can not be found in table schema.")
    column = layout.column(name)
    if getattr(column.type, "name", None) not in ("INT", "BIGINT"):
        raise TableError(
            f"{where}: The data type of auto increment column must be INT or BIGINT, column {name} "
            f"is {describe(column.type)}"
        )
    if name in layout.primary_key:
        raise TableError(
            f"{where}: Auto increment column can not be used as the primary key, found {name} in "
            f"({', '.join(layout.primary_key)})"
        )
    _check_fold(layout, options, name)
    if column.default is not None:
        raise TableError(f"{where}: column {name} has a DEFAULT; its values are never written")
    if not column.type.nullable:
        raise TableError(
            f"{where}: column {name} is NOT NULL, for which Spark asks each INSERT for a value; "
            "leave NOT NULL out: each row has an id"
        )


def _check_fold(layout: TableLayout, options: TableOptions, name: str) -> None:
    """Raises an error if the engine could make another value of the ids of a key."""
    where = f"table {layout.name}, option {OPTION}"
    told = {
        "sequence.field": options.sequence_fields,
        "rowkind.field": (options.rowkind_field,),
        "table.merge-engine.versioned.ver-column": (options.version_column,),
    }
    for option, columns in told.items():
        if name in columns:
            raise TableError(f"{where}: column {name} is in {option} too, which users write")
    if (group := sequence_group_of(layout.options, name)) is not None:
        raise NotSupportedError(
            f"{where}: column {name} is in {group}, by which a record that comes late would not "
            "bring its id; leave it out of the group"
        )
    if not options.engine.folds_columns or options.engine.is_default:
        return
    own = options.field_options(name).get("aggregate-function")
    function = own or options.default_aggregate
    if function is not None and function.strip().lower() not in _KEEPING:
        raise TableError(
            f"{where}: function {function} of column {name} makes other values of ids; set "
            f"fields.{name}.aggregate-function = last_non_null_value"
        )
