"""A consumer of changelog files: what it must have after each statement that changes rows."""

from collections.abc import Sequence
from typing import Any

from keyfold.kernels.ops import INSERT
from keyfold.storage.table import Table
from tests.changelog.changelog_files import Rows, changes_since, check_rows, folded, key_of
from tests.machine.model import Row, State
from tests.machine.steps import Statement
from tests.read import harness

ADDED = {"+I": 1, "+U": 1, "-U": -1, "-D": -1}


def rows_by_key(table: Table) -> Rows:
    """The rows that a reader sees."""
    return {key_of(table, row): row for row in harness.rows(table)}


def check_told(table: Table, number: int, before: Rows) -> None:
    """The changes after a snapshot, which had these rows, lead to the table's rows; each fits the
    row that it meets.
    """
    found = folded(table, before, changes_since(table, number))
    check_rows(table, found, [(INSERT, row) for row in harness.rows(table)])


class Consuming:
    """In front of a machine's driver: a consumer looks at each statement and overwrite."""

    now: Table

    def change(self, line: str, state: State, statement: Statement) -> None:
        self._consumed("change", line, state, statement)

    def overwrite(self, line: str, state: State, rows: Sequence[Row]) -> None:
        self._consumed("overwrite", line, state, rows)

    def _consumed(self, do: str, *given: Any) -> None:
        table = self.now
        number, before = table.snapshot_id or 0, rows_by_key(table)
        getattr(super(), do)(*given)
        check_told(self.now, number, before)
