"""The process that a job on the driver runs in, as jobs see it. A Spark session runs its tasks on
executors, a program without Spark in threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from keyfold.wire.specs import CommitMessage, CompactionSpec, Task

Made = tuple[int, CommitMessage | Exception]


class TaskRunner(Protocol):
    """A process that does the work of jobs."""

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the table's catalog."""

    @property
    def parallelism(self) -> int:
        """The number of tasks that run at a time."""

    def made(self, title: str, spec: CompactionSpec, tasks: Sequence[Task]) -> Iterator[Made]:
        """The files of each task, or why it has none, with its place, as they end. Raises what
        ends all tasks.
        """

    def note(self, line: str, *, is_bad: bool = False) -> None:
        """Write a line to the log."""

    def apart(self) -> None:
        """Go on beside what the caller does next."""


def counted(number: int, what: str) -> str:
    """The number, and the word in singular or plural."""
    return f"{number} {what}{'' if number == 1 else 's'}"
