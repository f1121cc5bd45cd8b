"""The Spark session that a question comes from, as jobs of the driver see it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from keyfold.bridge.frames import TASKS, Frame, TaskTexts, text_of
from keyfold.compact.task_runner import Made
from keyfold.errors import TableError
from keyfold.files.sections import packed
from keyfold.questions.serve import Talk, functions_for
from keyfold.wire.specs import CommitMessage, CompactionSpec, Task

_TASK_BYTES = 256 << 10  # as long as the least task takes, a larger one merges about so much
_SHARE_BYTES = 8 << 20
_SHARES = 2  # for each task that runs at a time, so that none waits long for the last one


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
        """The files of each task, or why it has none, as tasks of one Spark job end. Small ones
        share a task of Spark's, which takes as long to begin as they take.
        """
        if not tasks:
            return
        own = spec.to_json() | functions_for(self._question, spec.layout)
        asked = {"question": "compact", "compaction": own}
        shares = _shares(tasks, self.parallelism)
        sent = (text_of([tasks[at].to_json() for at in share]) for share in shares)
        for told in self.answers(title, asked, sent, len(shares)):
            share = shares[told["place"]]
            yield from zip(share, _made(told, len(share)), strict=True)

    def answers(
        self, title: str, asked: Frame, tasks: Iterable[str], count: int
    ) -> Iterator[dict[str, Any]]:
        """The answers to a question about each of `count` tasks, as those of one Spark job end."""
        self._talk.ask("tasks", title=title, asked=asked, **{TASKS: TaskTexts(tasks)})
        for _ in range(count):
            told = self._talk.ask("next")
            if "ended" in told:
                raise TableError(f"{title}: the Spark job ended: {told['ended']}")
            yield told

    def note(self, line: str, *, is_bad: bool = False) -> None:
        """Write a line to the session's log."""
        self._talk.ask("note", line=line, is_bad=is_bad)

    def apart(self) -> None:
        """Let the statement go on while the job does."""
        self._talk.ask("apart")

    def analyzed(self, columns: list[str]) -> Mapping[str, Any]:
        """The number of rows, and the figures of columns."""
        return self._talk.ask("analyze", columns=columns)


def _shares(tasks: Sequence[Task], parallelism: int) -> list[list[int]]:
    """The places of the tasks that a task of Spark's does: of neighbours as long as they are small,
    and enough of them that all that run at a time have some.
    """
    weights = [_TASK_BYTES + _bytes(task) for task in tasks]
    most = min(_SHARE_BYTES, sum(weights) / (_SHARES * parallelism))
    return list(packed(range(len(tasks)), weights.__getitem__, most))


def _bytes(task: Task) -> int:
    """The bytes of all files that a task may read."""
    known = () if task.changelog is None else task.changelog.before
    below = () if task.below is None else task.below.files
    before = (file for section in known for run in section for file in run)
    return sum(file.size for file in (*task.split.files, *below, *before))


def _made(told: Frame, count: int) -> list[CommitMessage | Exception]:
    """The results of the tasks of one of Spark's."""
    if told["ok"] is None:
        return [TableError(told["failure"])] * count
    return [
        CommitMessage.from_json(one["files"]) if "files" in one else TableError(one["failure"])
        for one in told["ok"]["done"]
    ]
