"""Deletes: the rows that are found get records of kind -D, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from keyfold.tables.rows.keys import keys_of
from keyfold.tables.statements.statement import ChangeStatement, planned
from keyfold.tables.where.condition import Where
from keyfold.tables.writes import Destination

Found = Callable[[ChangeStatement], Iterator[pa.RecordBatch]]


def by_keys(to: Destination, given: Any, options: Mapping[str, str]) -> int | None:
    """Remove the rows of keys, in any form; returns the snapshot, None if none was there."""

    def found(statement: ChangeStatement) -> Iterator[pa.RecordBatch]:
        return statement.looked_up(keys_of(statement.layout, given, "deleting from"))

    return _deleted(to, found, options)


def by_condition(to: Destination, where: Where, options: Mapping[str, str]) -> int | None:
    """Remove the rows that satisfy a condition; returns the snapshot, None if there was none."""
    return _deleted(to, lambda statement: statement.scanned(where), options)


def _deleted(to: Destination, found: Found, options: Mapping[str, str]) -> int | None:
    """Write a -D for each row that `found` gives of the table's snapshot. Raises ConflictError if
    another job changed such rows since that snapshot.
    """
    with to.session.working():
        statement = planned(to, "DELETE", options)
        return statement.committed(map(statement.deleted, found(statement)))
