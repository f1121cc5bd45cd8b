"""Columns that were added with a DEFAULT to a table that held data, where records fold.

Each record that was stored before has the constant. A key may have several such records, or one
that a compaction made of them: only a function that folds a constant with itself to itself gives
both the same result.
"""

from typing import Any

import pyarrow as pa

from keyfold.aggregates.declare import Aggregate
from keyfold.errors import NotSupportedError
from keyfold.files.initial_values import initial
from keyfold.kernels.ops import ADD
from keyfold.merge.functions import aggregate_of
from keyfold.options import TableOptions
from keyfold.wire.layout import Column, TableLayout


def check_initial(layout: TableLayout, options: TableOptions) -> None:
    """NotSupportedError for the first column whose function counts the constant of each record."""
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
