"""The question `compact`: one task of a compaction, answered with the files it wrote (executor
side).
"""

from typing import Any

from keyfold.compact.rewrite import rewrite
from keyfold.compact.spec import CompactionSpec, Task
from keyfold.metering import metering
from keyfold.worker import code, memory
from keyfold.worker.wire import Frame


def compact(question: Frame) -> dict[str, Any]:
    """Merge what question["task"] names; nothing refers to the new files before a commit."""
    spec = CompactionSpec.from_json(question["compaction"])
    task = Task.from_json(question["task"])
    try:
        with metering() as meter, code.used_by(question["compaction"]):
            with meter.timed("work"):
                message = rewrite(spec, task)
            figures = meter.figures()
    except Exception as e:
        raise memory.explained(e) from e
    written = {
        "rows_in": sum(file.rows for file in task.split.files),
        "rows_out": sum(file.rows for file in message.files),
        "bytes_in": sum(file.size for file in task.split.files),
        "bytes_out": sum(file.size for file in message.files),
    }
    return {"files": message.to_json(), "metrics": figures | written}
