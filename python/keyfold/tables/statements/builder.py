"""A MERGE that a program puts together clause by clause; names as in the builders of other tables
of lakes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from keyfold.tables.doors import doors
from keyfold.tables.statements.merges import (
    BY_SOURCE,
    DELETE,
    INSERT,
    MATCHED,
    NOT_MATCHED,
    UPDATE,
    Clause,
)


@doors(lambda merge: f"merge into table {merge.name}")
class Merge:
    """The clauses of a MERGE. Each method adds one and returns the builder; of several that fit a
    row the first counts. `execute` does them.

    A predicate is an expression of `pyarrow.compute`, a new value such an expression or a constant.
    `pc.field("source", "n")` is a column of the source, `pc.field("target", "n")` one of the table.
    """

    def __init__(self, name: str, execute: Callable[[Sequence[Clause]], int | None]) -> None:
        self.name, self._execute = name, execute
        self._clauses: list[Clause] = []

    def when_matched_update(
        self, updates: Mapping[str, Any], predicate: pc.Expression | None = None
    ) -> Merge:
        """Assign values to columns of rows that match."""
        return self._with(Clause(MATCHED, UPDATE, predicate, updates))

    def when_matched_update_all(
        self, predicate: pc.Expression | None = None, except_cols: Sequence[str] = ()
    ) -> Merge:
        """Assign all columns that the source has too, but `except_cols`, of rows that match."""
        return self._with(Clause(MATCHED, UPDATE, predicate, None, except_cols))

    def when_matched_delete(self, predicate: pc.Expression | None = None) -> Merge:
        """Remove rows that match."""
        return self._with(Clause(MATCHED, DELETE, predicate))

    def when_not_matched_insert(
        self, updates: Mapping[str, Any], predicate: pc.Expression | None = None
    ) -> Merge:
        """Insert rows of the source that match none; other columns get their DEFAULT, or NULL."""
        return self._with(Clause(NOT_MATCHED, INSERT, predicate, updates))

    def when_not_matched_insert_all(
        self, predicate: pc.Expression | None = None, except_cols: Sequence[str] = ()
    ) -> Merge:
        """Insert rows of the source that match none, with all columns that the table has too, but
        `except_cols`.
        """
        return self._with(Clause(NOT_MATCHED, INSERT, predicate, None, except_cols))

    def when_not_matched_by_source_update(
        self, updates: Mapping[str, Any], predicate: pc.Expression | None = None
    ) -> Merge:
        """Assign values to columns of rows of the table that match none of the source."""
        return self._with(Clause(BY_SOURCE, UPDATE, predicate, updates))

    def when_not_matched_by_source_delete(self, predicate: pc.Expression | None = None) -> Merge:
        """Remove rows of the table that match none of the source."""
        return self._with(Clause(BY_SOURCE, DELETE, predicate))

    def execute(self) -> int | None:
        """Do all of it in one commit; returns the new snapshot's id, None if nothing changed.

        Raises:
            TableError: A column is unknown, a value does not fit, or two rows of the source match
                one of the table.
            NotSupportedError: `on` names a column of a nested or floating type.
            ConflictError: Another job changed rows that this one has read; nothing has changed.
        """
        return self._execute(tuple(self._clauses))

    def _with(self, clause: Clause) -> Merge:
        self._clauses.append(clause)
        return self
