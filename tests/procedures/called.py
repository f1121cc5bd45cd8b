"""Procedures, called without Spark."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from keyfold.compact.rewrite import Rewriter
from keyfold.compact.task_runner import Made
from keyfold.procedures import procedures
from keyfold.procedures.declare import ProcedureCall, Rows
from keyfold.storage.table import Table, open_newest
from keyfold.wire.specs import CommitMessage, CompactionSpec, Epoch, Task


class Caller:
    """A process that calls procedures: it keeps the lines of its log, does one task after the
    other, and counts no columns.
    """

    parallelism = 2

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self.options: Mapping[str, str] = options or {}
        self.lines: list[str] = []

    def made(self, title: str, spec: CompactionSpec, tasks: Sequence[Task]) -> Iterator[Made]:
        for place, task in enumerate(tasks):
            try:
                done: CommitMessage | Exception = Rewriter(spec).rewrite(task)
            except Exception as error:
                done = error
            yield place, done

    def apart(self) -> None:
        raise AssertionError

    def note(self, line: str, *, is_bad: bool = False) -> None:
        self.lines.append(line)

    def analyzed(self, columns: list[str]) -> Mapping[str, Any]:
        raise AssertionError(columns)


def called(
    table: Table,
    procedure: str,
    *,
    within: Mapping[str, str] | None = None,
    caller: Caller | None = None,
    epoch: Epoch | None = None,
    **arguments: Any,
) -> Rows:
    """The rows of a procedure; the table's catalog has options, the caller a token's epoch."""
    newest = partial(open_newest, table.handle, within or {})
    return procedures()[procedure].rows(
        ProcedureCall(table, newest, caller or Caller(within), epoch), arguments
    )
