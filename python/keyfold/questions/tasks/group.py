"""The question `group`: rows of one task, with their keys, fold in groups (executor).

Rows come in memory that the JVM shares; it sends frames. A frame `rows` says that a slot of it is
full, and is answered when the slot may be filled again; `area` says that there is other memory;
`emit` is answered with all groups, which are forgotten.
"""

import base64
from typing import Any

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.area import Area
from keyfold.group_by.grouped import GroupInput, RunningGroups
from keyfold.questions.tasks.folding import Folding, serve
from keyfold.resources import budget
from keyfold.resources.metering import Meter
from keyfold.types.arrow import to_arrow
from keyfold.types.spark import from_spark


def answer(channel: Channel, question: frames.Frame) -> None:
    """Group what comes in by question["keys"], and fold it by question["folds"]."""
    serve(channel, question, _Groups)


class _Groups(Folding):
    """The groups of one task."""

    def __init__(self, channel: Channel, question: frames.Frame, meter: Meter) -> None:
        super().__init__(channel, meter)
        kinds = [to_arrow(from_spark(key)) for key in question["keys"]]
        sources = [GroupInput.of(fold) for fold in question["folds"]]
        self.area = Area.of(question["area"])
        self.groups = RunningGroups(kinds, sources, budget.bytes(), bool(question["spills"]))

    def take(self, frame: frames.Frame) -> None:
        """See `Folding.take`."""
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
            case _:
                raise ValueError(f"unknown message {dict(frame)}")

    def emit(self) -> None:
        """Send all groups. An error comes behind the end of their batches, as after any frame."""
        self.channel.send({"ok": {}})
        self.channel.send_batches(self.groups.schema, self.groups.batches())
        self.channel.send({"ok": {"spilled": self.groups.spilled_bytes}})

    def place_of(self, error: Exception, frame: frames.Frame) -> dict[str, Any]:
        """See `Folding.place_of`: the group by its key, if it has one."""
        if not isinstance(error, GroupError):
            return {}
        key = self.groups.key_of(error.group)
        named = {} if key is None else {"key": base64.b64encode(key).decode("ascii")}
        return {"group": error.group, **named}
