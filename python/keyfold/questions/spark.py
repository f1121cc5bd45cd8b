"""The Spark session that a question comes from, as jobs of the driver see it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keyfold.bridge.frames import TASKS, Frame, TaskTexts, text_of
from keyfold.compact.task_runner import Made
from keyfold.errors import TableError
from keyfold.questions.serve import Talk, functions_for
from keyfold.wire.specs import CommitMessage, CompactionSpec, Task


class Spark:
    """Does for a job what only Spark can do."""

    def __init__(self, question: Frame, talk: Talk) -> None:
        self._question, self._talk = question, talk

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the catalog."""
        found: Mapping[str, str] = self._question["catalog"]["options"]
        return found

    @property
    def parallelism(self) -> int:
        """The number of tasks that run at a time."""
        return int(self._question["parallelism"])

    def made(self, title: str, spec: CompactionSpec, tasks: Sequence[Task]) -> Iterator[Made]:
        """The files of each task of one Spark job, or why it has none, as they end."""
        if not tasks:
            return
        own = spec.to_json() | functions_for(self._question, spec.layout)
        asked = {"question": "compact", "compaction": own}
        sent = TaskTexts(text_of(task.to_json()) for task in tasks)
        self._talk.ask("tasks", title=title, asked=asked, **{TASKS: sent})
        for _ in tasks:
            told = self._talk.ask("next")
            if "ended" in told:
                raise TableError(f"{title}: the Spark job ended: {told['ended']}")
            yield told["place"], _made(told)

    def note(self, line: str, *, is_bad: bool = False) -> None:
        """Write a line to the session's log."""
        self._talk.ask("note", line=line, is_bad=is_bad)

    def apart(self) -> None:
        """Let the statement go on while the job does."""
        self._talk.ask("apart")

    def analyzed(self, columns: list[str]) -> Mapping[str, Any]:
        """The number of rows, and the figures of columns."""
        return self._talk.ask("analyze", columns=columns)


def _made(told: Frame) -> CommitMessage | Exception:
    if told["ok"] is None:
        return TableError(told["failure"])
    return CommitMessage.from_json(told["ok"]["files"])
