"""The question `aggregate`: rows of one task fold in groups, by the calls of a query (executor).

The JVM numbers the groups and sends frames: `rows` and `states`, each with one Arrow stream, have
no answer; `take` is answered with the states or values of some groups, of a window with the first
of them that fit into an answer. `forget` leaves the last group of a window.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.folds import call_of, folding
from keyfold.group_by.stated import Folds
from keyfold.group_by.window_frames import Frames
from keyfold.kernels.buffers import values
from keyfold.questions.tasks.folding import Folding, serve
from keyfold.resources import budget
from keyfold.resources.metering import Meter

_FULL = 2  # parts of the memory: what all groups may take at most before the JVM empties them,
_WAITING = 16  # and what the rows that wait of all calls may take


def answer(channel: Channel, question: frames.Frame) -> None:
    """Fold what comes in by question["folds"]."""
    serve(channel, question, _Calls)


class _Calls(Folding):
    """The calls of one task."""

    def __init__(self, channel: Channel, question: frames.Frame, meter: Meter) -> None:
        super().__init__(channel, meter)
        calls = [call_of(fold) for fold in question["folds"]]
        room = budget.bytes()
        waiting = room // _WAITING // max(len(calls), 1)
        made = Frames if question.get("frames") else folding
        self.folds: list[Folds] = [made(call, waiting) for call in calls]
        self.most_held = room // _FULL

    def take(self, frame: frames.Frame) -> None:
        """See `Folding.take`."""
        match frame:
            case {"rows": place}:
                self.add(self.folds[place])
            case {"states": place}:
                for batch in self.received():
                    self.folds[place].merge(_groups(batch), batch.column("state"))
            case {"take": place}:
                self.send(self.folds[place], frame)
            case {"forget": place, "last": last}:
                fold = self.folds[place]
                assert isinstance(fold, Frames)
                fold.keep(last)
            case {"clear": True}:
                for fold in self.folds:
                    fold.clear()
            case _:
                raise ValueError(f"unknown message {dict(frame)}")

    def received(self) -> Iterator[pa.RecordBatch]:
        """The batches that follow a frame."""
        return self.traffic.counted(self.channel.receive_batches())

    def add(self, fold: Folds) -> None:
        """Take the rows of one call."""
        for batch in self.received():
            fold.add(_groups(batch), batch.column("a0"))

    def send(self, fold: Folds, frame: frames.Frame) -> None:
        """Send the states or values of some groups. Nothing is folded if there are none of them."""
        start, stop, name = int(frame["from"]), int(frame["to"]), str(frame["as"])
        kind = pa.binary() if name == "state" else fold.call.arrow_type
        found: list[pa.Array] = []
        if start < stop:
            found = list(
                fold.states(start, stop) if name == "state" else [fold.values(start, stop)]
            )
        schema = pa.schema([pa.field(name, kind)])
        batches = [pa.RecordBatch.from_arrays([column], schema=schema) for column in found]
        held = sum(one.held for one in self.folds)
        self.channel.send({"ok": {"held": held, "full": held > self.most_held}})
        self.channel.send_batches(schema, iter(batches))

    def place_of(self, error: Exception, frame: frames.Frame) -> dict[str, Any]:
        """See `Folding.place_of`: the number of the group."""
        return {"group": error.group} if isinstance(error, GroupError) else {}


def _groups(batch: pa.RecordBatch) -> Any:
    return values(batch.column("group"), np.int32)
