"""The question `group`: rows of one task, with their keys, fold in groups (executor).

Rows come in memory that the JVM shares; it sends frames. A frame `rows` says that a slot of it is
full, and is answered when the slot may be filled again; `area` says that there is other memory;
`emit` is answered with all groups, which are forgotten; `end` ends the question. After an error
nothing more is read of what the JVM sends, until it closes the connection.
"""

import base64
from typing import Any

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected, Traffic
from keyfold.queries.accumulate import GroupError
from keyfold.queries.area import Area
from keyfold.queries.grouped import Grouped, Source
from keyfold.resources import budget
from keyfold.resources.metering import Meter, metering
from keyfold.types.arrow import to_arrow
from keyfold.types.spark import from_spark


def answer(channel: Channel, question: frames.Frame) -> None:
    """Group what comes in by question["keys"], and fold it by question["folds"]."""
    with metering() as meter:
        try:
            task = _Task(channel, question, meter)
        except Exception as e:
            channel.send(frames.failure(memory.explained(e), "binding the functions of a query"))
            return
        channel.send({"ok": {}})
        task.serve()


class _Task:
    """The groups of one task, and the connection to the JVM that sends its rows."""

    def __init__(self, channel: Channel, question: frames.Frame, meter: Meter) -> None:
        kinds = [to_arrow(from_spark(key)) for key in question["keys"]]
        sources = [Source.of(fold) for fold in question["folds"]]
        self.area = Area.of(question["area"])
        self.groups = Grouped(kinds, sources, budget.bytes(), bool(question["spills"]))
        self.channel, self.meter, self.traffic = channel, meter, Traffic()

    def serve(self) -> None:
        """Take frames until the last one, or until the JVM leaves."""
        while (frame := self.channel.receive()) is not None:
            try:
                if self.is_last(frame):
                    return
            except Disconnected:
                raise
            except Exception as e:
                self.fail(e)

    def is_last(self, frame: frames.Frame) -> bool:
        """Do what one frame asks; whether it ends the question."""
        match frame:
            case {"rows": rows}:
                self.groups.add(self.area.batch(frame))
                self.traffic.rows += rows
                self.channel.send({"ok": {"full": self.groups.is_full}})
            case {"area": area}:
                self.area = Area.of(area)
                self.channel.send({"ok": {}})
            case {"emit": True}:
                self.emit()
            case {"end": True}:
                metrics = self.traffic.metrics() | self.meter.figures()
                self.channel.send({"ok": {"metrics": metrics | {"rows_in": self.traffic.rows}}})
                return True
            case _:
                raise ValueError(f"unknown message {dict(frame)}")
        return False

    def emit(self) -> None:
        """Send all groups. An error comes behind the end of their batches, as after any frame."""
        self.channel.send({"ok": {}})
        self.channel.send_batches(self.groups.schema, self.groups.batches())
        self.channel.send({"ok": {"spilled": self.groups.spilled_bytes}})

    def fail(self, error: Exception) -> None:
        """Send the error and read on to the end; raises Disconnected."""
        where: dict[str, Any] = {}
        if isinstance(error, GroupError):
            key = self.groups.key_of(error.group)
            if key is not None:
                where = {"group": error.group, "key": base64.b64encode(key).decode("ascii")}
            error = error.error
        failure = frames.failure(memory.explained(error), "folding the rows of a query")
        self.channel.send({"error": failure["error"] | where})
        self.channel.discard()
