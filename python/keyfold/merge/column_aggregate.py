"""The aggregate of a column of a table, and the messages for sums that don't fit it."""

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from keyfold.aggregates import aggregates
from keyfold.aggregates.binding import Words, bound, named
from keyfold.aggregates.declaration import Aggregate
from keyfold.errors import TableError
from keyfold.merge.averages import AVERAGE, is_average
from keyfold.merge.sequence_groups import group_fields
from keyfold.options.declared import TableOptions
from keyfold.types import logical
from keyfold.wire.layout import Column, TableLayout, sql_name

Normalize = Callable[[pa.Array], pa.Array]

MOST_DIGITS = 38
_WIDER = {
    "TINYINT": "BIGINT",
    "SMALLINT": "BIGINT",
    "INT": "BIGINT",
    "BIGINT": "DECIMAL(38, 0)",
}


def aggregate_of(layout: TableLayout, options: TableOptions, name: str) -> Aggregate | None:
    """The aggregate of a column, None for one of the primary key or of the partition. Raises
    TableError if the aggregate is unknown or of another type.
    """
    if name in (*layout.primary_key, *layout.partition_keys):
        return None
    if name in options.sequence_fields:
        return aggregates()["last_value"]
    return chosen_aggregate(layout, options, name) or aggregates()["last_non_null_value"]


def chosen_aggregate(layout: TableLayout, options: TableOptions, name: str) -> Aggregate | None:
    """The aggregate that options name for a column, for it alone or as the default."""
    option, function = (
        f"fields.{name}.aggregate-function",
        options.field_options(name).get("aggregate-function"),
    )
    if function is None and options.default_aggregate is not None:
        option, function = TableOptions.default_aggregate.name, options.default_aggregate
    if function is None:
        return None
    if is_average(options, name):
        return AVERAGE
    column = layout.column(name)
    words = Words(
        f"table {layout.name}, option {option}",
        f"table {layout.name}, column {name}",
        f"column '{name}'",
        lambda suffix: f"option fields.{name}.{suffix} of table {layout.name}",
    )
    return bound(named(words.names, function), column.type, options.field_options(name), words)


def normalizers(
    layout: TableLayout, options: TableOptions, *, overwrites: bool
) -> dict[str, Normalize]:
    """By column, the check and the change that its function makes of every value a job writes,
    before a value folds or, with `overwrites`, before it replaces the stored one.
    """
    found: dict[str, Normalize] = {}
    unfolded = {
        *layout.primary_key,
        *layout.partition_keys,
        *options.sequence_fields,
        *group_fields(options),
    }
    for column in layout.columns:
        is_folded = column.name not in unfolded
        aggregate = chosen_aggregate(layout, options, column.name) if is_folded else None
        if aggregate is None:
            continue
        has_change = aggregate.normalize is not None and (
            aggregate.normalizes_states or not overwrites
        )
        if has_change or aggregate.check is not None:
            found[column.name] = partial(
                _normalized, aggregate.check, aggregate.normalize if has_change else None
            )
    return found


def _normalized(
    check: Callable[[pa.Array], None] | None, change: Normalize | None, column: pa.Array
) -> pa.Array:
    if check is not None:
        check(column)
    return column if change is None else change(column)


def refused_retract(layout: TableLayout, name: str, aggregate: Aggregate) -> TableError:
    """The error for a retraction of a column whose aggregate neither takes nor ignores it."""
    return TableError(
        f"table {layout.name}, column {name}: Aggregate function '{aggregate.name}' does "
        "not support retraction, If you allow this function to ignore retraction messages, you "
        f"can configure 'fields.{name}.ignore-retract'='true'."
    )


def check_functions(layout: TableLayout, options: TableOptions) -> None:
    """Raises TableError if the function of a column is unknown, of another type, or set on a
    sequence field.
    """
    for column in layout.columns:
        has_function = "aggregate-function" in options.field_options(column.name)
        if has_function and column.name in options.sequence_fields:
            raise TableError(
                f"table {layout.name}: Should not define aggregation on sequence field: "
                f"'{column.name}'."
            )
        aggregate_of(layout, options, column.name)
    if options.default_aggregate is not None:
        option = TableOptions.default_aggregate.name
        named(f"table {layout.name}, option {option}", options.default_aggregate)


def wider(table: str, column: Column) -> str:
    """The end of an overflow's message: the column's type, and the statement that widens it."""
    own, target = logical.describe(column.type), wider_type(column.type)
    lost = f"does not fit {own}; no stored row is lost: "
    if target is None:
        return f"{lost}there is no wider type, so leave the column out of the query"
    return (
        f"{lost}ALTER TABLE {table} ALTER COLUMN {sql_name(column.name)} TYPE {target} "
        f"(in Python table.alter(types={{{column.name!r}: '{target}'}})) and run the statement "
        "again; a query may also leave the column out, and one of an older snapshot (VERSION AS "
        "OF, table.scan(snapshot=…)) must, as that keeps its schema"
    )


def wider_type(kind: logical.DataType) -> str | None:
    """The type, as SQL writes it, that has room for greater sums; None if there is none."""
    if isinstance(kind, logical.Atomic) and kind.name == "DECIMAL":
        return f"DECIMAL(38, {kind.scale or 0})" if (kind.length or 0) < MOST_DIGITS else None
    return _WIDER.get(getattr(kind, "name", ""))
