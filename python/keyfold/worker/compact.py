"""Questions of a compaction (driver side): plan it, commit each step, or give one up.

The opaque `compaction` is the CompactionSpec that the executors read, plus the handle of the table
and the session's functions; a step's `results` are the CommitMessages of its tasks, in order.
"""

from collections.abc import Callable, Mapping
from typing import Any

from keyfold.worker.wire import Frame


def plan_compaction(question: Frame) -> dict[str, Any]:
    """The steps of a compaction, each with its tasks; `skipped` says why there are none."""
    return {"compaction": {}, "steps": [], "skipped": "compaction does nothing yet"}


def commit_compaction(question: Frame) -> dict[str, Any]:
    """Put what the tasks of a step wrote in the place of what they read."""
    return {
        "outcome": "nothing",
        "message": None,
        "snapshot": None,
        "files": 0,
        "bytes": 0,
        "rows": 0,
    }


def abandon_compaction(question: Frame) -> None:
    """Delete the files of a step, unless they are, or may be, part of a snapshot."""


QUESTIONS: Mapping[str, Callable[[Frame], Any]] = {
    function.__name__: function
    for function in (plan_compaction, commit_compaction, abandon_compaction)
}
