"""The answers about plans of reads: what executors read, in the words that they are sent."""

from collections.abc import Sequence
from typing import Any

from keyfold.bridge import frames
from keyfold.questions.serve import functions_for
from keyfold.read.splits import Tasks
from keyfold.wire.codec import Wire
from keyfold.wire.layout import TableLayout


def planned(
    question: frames.Frame, layout: TableLayout, spec: Wire, tasks: Sequence[Sequence[Wire]]
) -> dict[str, Any]:
    """The part of an answer that has what executors read: the spec of all tasks with the session's
    functions, and the splits of each task as a text, which the JVM passes on.
    """
    texts = tasks.texts() if isinstance(tasks, Tasks) else map(_text, tasks)
    return {
        "scan": spec.to_json() | functions_for(question, layout),
        frames.TASKS: frames.TaskTexts(texts),
    }


def _text(task: Sequence[Wire]) -> str:
    return frames.text_of([split.to_json() for split in task])
