"""`fields.<column>.…` at CREATE and ALTER: names of functions as Paimon stores them, and checks.

An option of one function is refused on a column that has another: it would do nothing.
"""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from keyfold.aggregates import aggregates, find
from keyfold.aggregates.binding import named, settings_of
from keyfold.aggregates.declaration import Aggregate, Parameter
from keyfold.aggregates.states.state_option import STATE
from keyfold.errors import NotSupportedError, TableError
from keyfold.files.initial_values import initial
from keyfold.kernels.ops import ADD
from keyfold.merge.column_aggregate import aggregate_of
from keyfold.options.column_options import FIELD_OPTIONS
from keyfold.options.declared import TableOptions
from keyfold.options.names import FIELD
from keyfold.options.paimon import PAIMON_FIELD_OPTIONS
from keyfold.options.parsing import parse
from keyfold.options.values import boolean, given
from keyfold.wire.layout import Column, TableLayout


def parameters() -> dict[str, list[tuple[Aggregate, Parameter]]]:
    """The options of single functions, by suffix, with the functions that take them."""
    found: dict[str, list[tuple[Aggregate, Parameter]]] = {}
    for aggregate in dict.fromkeys(aggregates().values()):
        for parameter in aggregate.parameters:
            found.setdefault(parameter.name, []).append((aggregate, parameter))
    return found


def stored_functions(layout: TableLayout) -> TableLayout:
    """The layout with Paimon's names for its functions; unknown names stay as they are."""
    stored = {name: _stored(name, text) for name, text in layout.options.items()}
    return layout if stored == layout.options else replace(layout, options=stored)


def _stored(option: str, text: str) -> str:
    names_function = option == TableOptions.default_aggregate.name or (
        option.startswith("fields.") and option.endswith(".aggregate-function")
    )
    if not names_function:
        return text
    found = find(text)
    return text if found is None else found.name


def check_field_options(layout: TableLayout, before: Mapping[str, str]) -> None:
    """Raises TableError or NotSupportedError if an option is new and does not fit its column."""
    for option, text in layout.options.items():
        match = FIELD.match(option)
        if match is not None and before.get(option) != text:
            _check(layout, option, match[1], match[2], text)


def _check(layout: TableLayout, option: str, column: str, suffix: str, text: str) -> None:
    takers = parameters().get(suffix)
    if suffix == STATE and column in layout.primary_key:
        raise TableError(f"table {layout.name}: {column} is a key column, which can't be a state")
    if takers is not None:
        return _check_parameter(layout, option, column, [aggregate for aggregate, _ in takers])
    if suffix not in FIELD_OPTIONS:
        raise _unknown(layout.name, option, column, suffix)
    if suffix == "ignore-retract":
        given(f"option {option} of table {layout.name}", text, boolean)
    return None


def _check_parameter(
    layout: TableLayout, option: str, column: str, takers: list[Aggregate]
) -> None:
    """Check that the column's function takes the parameter and that the value parses."""
    options = parse(layout)
    function = options.field_options(column).get("aggregate-function", options.default_aggregate)
    where = f"table {layout.name}, option {option}"
    aggregate = None if function is None else named(where, function)
    if aggregate not in takers:
        words = " or ".join(sorted(f"'{taker.name}'" for taker in takers))
        own = "" if aggregate is None else f" for aggregation function '{aggregate.name}'"
        raise TableError(
            f"table {layout.name}: option {option} is not supported{own}; it belongs to {words}, "
            f"which fields.{column}.aggregate-function names"
        )
    settings_of(
        aggregate,
        options.field_options(column),
        lambda _: f"option {option} of table {layout.name}",
    )


def _unknown(table: str, option: str, column: str, suffix: str) -> TableError | NotSupportedError:
    if suffix in PAIMON_FIELD_OPTIONS:
        return NotSupportedError(
            f"option {option} of table {table} is known to Paimon but not supported here"
        )
    near = difflib.get_close_matches(suffix.lower(), [*FIELD_OPTIONS, *parameters()], 1, 0.6)
    hint = f"; did you mean fields.{column}.{near[0]}?" if near else ""
    return TableError(f"option {option} of table {table} is unknown{hint}")


# Each record that was stored before a column was added with a DEFAULT has that constant. A key may
# have several such records, or one that a compaction made of them. Both have the same result only
# if the function folds a constant with itself to itself.


def check_initial(layout: TableLayout, options: TableOptions) -> None:
    """Raises NotSupportedError if a column's function counts the constant of each record."""
    if not options.engine.folds_columns:
        return
    for column in layout.columns:
        aggregate = None
        if column.initial is not None:
            aggregate = aggregate_of(layout, options, column.name)
        if aggregate is not None and not _keeps(aggregate, column):
            raise NotSupportedError(
                f"table {layout.name}: column {column.name} was added with a DEFAULT to a table "
                f"that held data, and folds by {aggregate.name}, which would count the DEFAULT "
                "once for each record of a row, and once less for each compaction: add it without "
                "one (rows stored so far read NULL), then ALTER COLUMN … SET DEFAULT"
            )


def _keeps(aggregate: Aggregate, column: Column) -> bool:
    found = initial(column)
    is_time = pa.types.is_temporal(found.type)
    value: Any = found.value if is_time else found.as_py()  # Python lacks most years
    try:
        folded = [aggregate.definition([(ADD, value)] * times) for times in (1, 2, 3)]
    except Exception:  # a function of the user's own may raise anything
        return False
    return all(repr(found) == repr(value) for found in folded)
