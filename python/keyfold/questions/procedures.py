"""Questions of `CALL <catalog>.sys.<name>(…)` (driver side): the procedures, and a call of one.

A call asks back for what only Spark can do: lines in its log, and figures of columns.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from keyfold.bridge.frames import Frame
from keyfold.procedures import procedures
from keyfold.procedures.declare import Call, Rows
from keyfold.questions.serve import Questions, Talk
from keyfold.storage.table import open_handle, open_newest

QUESTIONS = Questions()


@QUESTIONS.look
def list_procedures(question: Frame) -> list[dict[str, Any]]:
    """The procedures: parameters and result columns of each."""
    return [procedure.to_json() for procedure in procedures().values()]


@QUESTIONS.talk
def call_procedure(question: Frame, talk: Talk) -> Rows:
    """Do what question["procedure"] does, with question["arguments"]. Returns its rows."""
    handle, options = question["table"], question["catalog"]["options"]
    newest = partial(open_newest, handle, options)
    call = Call(open_handle(handle, options), newest, Spark(talk))
    return procedures()[question["procedure"]].rows(call, question["arguments"])


class Spark:
    """The Spark session that called a procedure."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def note(self, line: str, *, is_bad: bool = False) -> None:
        """Write a line to the session's log."""
        self._talk.ask("note", line=line, is_bad=is_bad)

    def analyzed(self, columns: list[str] | None) -> Mapping[str, Any]:
        """The number of rows, and the figures of columns."""
        return self._talk.ask("analyze", columns=columns)
