"""The question `compact`: one task of a compaction, answered with the files it wrote (executor
side).

The JVM says nothing meanwhile, so a task that was killed shows in its connection: the worker looks
at it for each batch, and what it wrote is deleted.
"""

from collections.abc import Callable
from typing import Any

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.compact.rewrite import rewrite
from keyfold.questions import session_functions
from keyfold.resources.metering import metering
from keyfold.stores.opened import store_of
from keyfold.wire.specs import CommitMessage, CompactionSpec, Task
from keyfold.write.parquet import delete_files


def answer(channel: Channel, question: frames.Frame) -> None:
    """Do the task and name its files, unless the JVM has left."""
    try:
        done = compact(question, channel.check_peer)
    except Disconnected:
        raise
    except Exception as e:
        channel.send(frames.failure(e, "compacting"))
        return
    try:
        channel.send({"ok": done})
    except Disconnected:
        abandon(question, done)
        raise


def compact(question: frames.Frame, go_on: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Merge what question["task"] names; nothing refers to the new files before a commit."""
    spec = CompactionSpec.from_json(question["compaction"])
    task = Task.from_json(question["task"])
    try:
        with metering() as meter, session_functions.used_by(question["compaction"]):
            with meter.timed("work"):
                message = rewrite(spec, task, go_on)
            figures = meter.figures()
    except Disconnected:
        raise
    except Exception as e:
        raise memory.explained(e) from e
    written = {
        "rows_in": sum(file.rows for file in task.split.files),
        "rows_out": sum(file.rows for file in message.files),
        "bytes_in": sum(file.size for file in task.split.files),
        "bytes_out": sum(file.size for file in message.files),
    }
    return {"files": message.to_json(), "metrics": figures | written}


def abandon(question: frames.Frame, done: dict[str, Any]) -> None:
    """Delete the files of a task that nobody hears of."""
    spec = CompactionSpec.from_json(question["compaction"])
    path = Task.from_json(question["task"]).directory
    files = CommitMessage.from_json(done["files"]).files
    delete_files(store_of(spec.layout.location, spec.layout.store), path, files)
