"""The loop of one connection: read a question, find who answers it, until the peer closes.

A question that has one plain answer is a function from the question to JSON (`plain`); `read` and
`write` carry rows and talk to the channel themselves.
"""

from collections.abc import Callable, Mapping
from typing import Any

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.errors import EnvironmentMismatchError
from keyfold.questions import session_functions

Answer = Callable[[Channel, frames.Frame], None]


def serve(channel: Channel, answers: Mapping[str, Answer]) -> None:
    """Answer until the peer closes. What is no frame, or fails where no answer expects it, is sent
    and raised: nothing can follow.
    """
    try:
        while (question := channel.receive()) is not None:
            named(question, answers)(channel, question)
    except Disconnected:
        raise
    except Exception as e:
        channel.send(frames.failure(e, "reading a question"))
        raise


def named(question: frames.Frame, answers: Mapping[str, Answer]) -> Answer:
    """Who answers this question; for an unknown one, somebody who says so."""
    return answers.get(str(question.get("question")), unknown)


def unknown(channel: Channel, question: frames.Frame) -> None:
    """Refuse a question this version does not know."""
    error = EnvironmentMismatchError(
        f"this worker has no answer to the question {question.get('question')!r}; "
        "jar and Python package are of different versions"
    )
    channel.send(frames.failure(error, "finding an answer"))


def plain(function: Callable[[frames.Frame], Any]) -> Answer:
    """An Answer that sends what `function` returns, or the error it raises."""

    def answer(channel: Channel, question: frames.Frame) -> None:
        try:
            with session_functions.used_by(question):
                reply: dict[str, Any] = {"ok": function(question)}
        except Exception as e:
            reply = frames.failure(e, str(question["question"]))
        channel.send(reply)

    return answer
