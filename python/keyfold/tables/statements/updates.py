"""UPDATE: the rows that satisfy a condition get new values, in one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from keyfold.tables.statements.expressions import AssignedValues
from keyfold.tables.statements.statement import planned
from keyfold.tables.where.condition import Where
from keyfold.tables.writes import Destination
from keyfold.wire.layout import TableLayout

UPDATING = "updating"


def by_condition(
    to: Destination,
    where: Where,
    values: Mapping[str, Any],
    options: Mapping[str, str],
) -> int | None:
    """Assign `values` to the columns of rows; returns the snapshot, None if no row passes. Raises
    ConflictError if another job changed such rows since the snapshot that was read.
    """

    def assigned(layout: TableLayout) -> Sequence[str]:
        found = AssignedValues(layout, UPDATING)
        if not values:
            raise found.refused("no column is assigned")
        return tuple(found.columns(values))

    with to.session.working():
        statement = planned(to, "UPDATE", options, assigned)
        made = AssignedValues(statement.layout, UPDATING)
        new = made.columns(values)
        none = statement.no_rows()
        made.computed(none, new, none)  # what can't be is refused before anything is read

        def records() -> Iterator[pa.RecordBatch]:
            for rows in statement.scanned(where):
                yield from statement.updated(rows, made.computed(rows, new, rows))

        return statement.committed(records())
