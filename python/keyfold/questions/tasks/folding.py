"""The base of the questions `aggregate` and `group`: the rows of one task come in by frames.

A frame `end` ends the question. After an error nothing more is read of what the JVM sends, until it
closes the connection.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected, Traffic
from keyfold.group_by.accumulate import GroupError
from keyfold.questions.serve import sending_errors
from keyfold.resources.metering import Meter, metering


class Folding(ABC):
    """The folds of one task, and the connection over which its rows come."""

    def __init__(self, channel: Channel, meter: Meter) -> None:
        self.channel, self._meter, self.traffic = channel, meter, Traffic()

    @abstractmethod
    def take(self, frame: frames.Frame) -> None:
        """Do what one frame asks."""

    @abstractmethod
    def place_of(self, error: Exception, frame: frames.Frame) -> dict[str, Any]:
        """The part of the query that the error of a frame is about, for the JVM."""

    def serve(self) -> None:
        """Take frames until the last one, or until the JVM leaves."""
        while (frame := self.channel.receive()) is not None:
            try:
                if frame.get("end"):
                    figures = self.traffic.metrics() | self._meter.figures()
                    self.channel.send({"ok": {"metrics": figures | {"rows_in": self.traffic.rows}}})
                    return
                self.take(frame)
            except Disconnected:
                raise
            except Exception as e:
                self._fail(e, frame)

    def _fail(self, error: Exception, frame: frames.Frame) -> None:
        """Send the error and read on to the end; raises Disconnected."""
        cause = error.error if isinstance(error, GroupError) else error
        failure = frames.failure(memory.explained(cause), "folding the rows of a query")
        self.channel.send({"error": failure["error"] | self.place_of(error, frame)})
        self.channel.discard()


def serve(
    channel: Channel,
    question: frames.Frame,
    opened: Callable[[Channel, frames.Frame, Meter], Folding],
) -> None:
    """Answer a question by what `opened` makes of it."""
    with metering() as meter:
        with sending_errors(channel, "binding the functions of a query"):
            task = opened(channel, question, meter)
        channel.send({"ok": {}})
        task.serve()
