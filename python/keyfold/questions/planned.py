"""The answers about plans of reads: what executors read, in the words that they are sent."""

from typing import Any

from keyfold.bridge import frames
from keyfold.questions.serve import functions_for
from keyfold.read.splits import Tasks
from keyfold.wire.codec import Wire
from keyfold.wire.layout import TableLayout


def planned(question: frames.Frame, layout: TableLayout, spec: Wire, tasks: Any) -> dict[str, Any]:
    """The part of an answer that has what executors read: the spec of all tasks with the session's
    functions, and the splits of each.
    """
    sent: Any = [] if isinstance(tasks, Tasks) else [[s.to_json() for s in task] for task in tasks]
    if isinstance(tasks, Tasks) and tasks:
        sent = frames.WrittenItems(tasks.texts())
    return {"scan": spec.to_json() | functions_for(question, layout), "tasks": sent}
