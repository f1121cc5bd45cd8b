"""Procedures, called without Spark."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from keyfold.procedures import procedures
from keyfold.procedures.declare import Call, Rows
from keyfold.storage.table import Table, open_newest


class Caller:
    """A process that calls procedures: it keeps the lines of its log, and counts no columns."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str, *, is_bad: bool = False) -> None:
        self.lines.append(line)

    def analyzed(self, columns: list[str] | None) -> Mapping[str, Any]:
        raise AssertionError(columns)


def called(
    table: Table,
    procedure: str,
    *,
    within: Mapping[str, str] | None = None,
    caller: Caller | None = None,
    **arguments: Any,
) -> Rows:
    """The rows of a procedure; the table's catalog has options."""
    newest = partial(open_newest, table.handle, within or {})
    return procedures()[procedure].rows(Call(table, newest, caller or Caller()), arguments)
