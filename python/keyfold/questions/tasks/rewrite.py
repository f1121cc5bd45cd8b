"""The question `compact`: tasks of a compaction, answered with the files they wrote (executor
side).

The JVM sends nothing meanwhile, so only the connection shows that a task was killed. The worker
checks it for each batch, and deletes the files it wrote if the JVM is gone.
"""

from collections.abc import Callable
from typing import Any

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.compact.rewrite import Rewriter
from keyfold.questions.serve import functions_of, sending_errors
from keyfold.resources.metering import metering
from keyfold.wire.specs import CommitMessage, CompactionSpec, Task, totals
from keyfold.write.job import Job

_DOING = "compacting"


def answer(channel: Channel, question: frames.Frame) -> None:
    """Do the tasks and name their files, unless the JVM has left."""
    with sending_errors(channel, _DOING):
        done = compact(question, channel.check_peer)
    try:
        channel.send({"ok": done})
    except Disconnected:
        abandon(question, done)
        raise


def compact(question: frames.Frame, go_on: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Merge the files of each of question["task"]; nothing refers to the new ones before a commit.
    A task that fails beside others has its failure in the place of its files.
    """
    spec = CompactionSpec.from_json(question["compaction"])
    tasks = [Task.from_json(task) for task in question["task"]]
    done: list[dict[str, Any]] = []
    with functions_of(question["compaction"]), Job(spec.layout) as job:
        rewriter = Rewriter(spec)
        for task in tasks:
            try:
                with metering() as meter, meter.timed("work"):
                    message = rewriter.rewrite(task, go_on)
            except Exception as error:
                if len(tasks) == 1 or isinstance(error, Disconnected):
                    raise
                told = frames.failure(memory.explained(error), _DOING)["error"]
                done.append({"failure": told["message"]})
            else:
                job.messages.append(message)
                figures = meter.figures() | _written(task, message)
                done.append({"files": message.to_json(), "metrics": figures})
    return {"done": done}


def _written(task: Task, message: CommitMessage) -> dict[str, Any]:
    read, made = totals(task.split.files), totals(message.files)
    written = {f"{name}_in": read[name] for name in ("rows", "bytes")}
    return written | {f"{name}_out": made[name] for name in ("rows", "bytes")}


def abandon(question: frames.Frame, done: dict[str, Any]) -> None:
    """Delete the files of tasks whose answer did not arrive."""
    spec = CompactionSpec.from_json(question["compaction"])
    made = (CommitMessage.from_json(one["files"]) for one in done["done"] if "files" in one)
    Job(spec.layout, made).remove()
