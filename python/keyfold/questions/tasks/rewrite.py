"""The question `compact`: one task of a compaction, answered with the files it wrote (executor
side).

The JVM sends nothing meanwhile, so only the connection shows that a task was killed. The worker
checks it for each batch, and deletes the files it wrote if the JVM is gone.
"""

from collections.abc import Callable
from typing import Any

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.compact.rewrite import rewrite
from keyfold.questions.serve import functions_of, sending_errors
from keyfold.resources.metering import metering
from keyfold.wire.specs import CommitMessage, CompactionSpec, Task, totals
from keyfold.write.job import Job


def answer(channel: Channel, question: frames.Frame) -> None:
    """Do the task and name its files, unless the JVM has left."""
    with sending_errors(channel, "compacting"):
        done = compact(question, channel.check_peer)
    try:
        channel.send({"ok": done})
    except Disconnected:
        abandon(question, done)
        raise


def compact(question: frames.Frame, go_on: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Merge the files of question["task"]; nothing refers to the new ones before a commit."""
    spec = CompactionSpec.from_json(question["compaction"])
    task = Task.from_json(question["task"])
    with metering() as meter, functions_of(question["compaction"]):
        with meter.timed("work"):
            message = rewrite(spec, task, go_on)
        figures = meter.figures()
    read, made = totals(task.split.files), totals(message.files)
    written = {f"{name}_in": read[name] for name in ("rows", "bytes")}
    written |= {f"{name}_out": made[name] for name in ("rows", "bytes")}
    return {"files": message.to_json(), "metrics": figures | written}


def abandon(question: frames.Frame, done: dict[str, Any]) -> None:
    """Delete the files of a task whose answer did not arrive."""
    spec = CompactionSpec.from_json(question["compaction"])
    Job(spec.layout, [CommitMessage.from_json(done["files"])]).remove()
