"""The loop of one connection, which reads and answers questions until the peer closes; and the
decorators that declare families of questions.

A question that has one plain answer is a function from the question to JSON. Others carry rows and
use the channel themselves.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

from keyfold.bridge import frames, memory
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.errors import EnvironmentMismatchError, TableError
from keyfold.options import provided
from keyfold.user_functions.sources import Sources
from keyfold.wire.layout import TableLayout, sql_name

CODE = "code"  # users' functions of the session that asks, and options of its writes

_SETTINGS = tuple(
    f"spark.keyfold.{name}"
    for name in (
        "driver.python",
        "merge.lookup",
        "modules",
        "python",
        "read-by-bucket",
        "start.timeout",
        "worker.memory",
        "txnAppId",
        "txnVersion",
    )
)
_SET_BY_CONFIGURE = "spark.keyfold.session.python"

Answer = Callable[[Channel, frames.Frame], None]
Plain = Callable[[frames.Frame], Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class Questions(dict[str, Answer]):
    """The questions of one family, by the names of the functions that answer them."""

    def __init__(self) -> None:
        self.looks: list[str] = []

    def look(self, function: Function) -> Function:
        """Declare a question with one plain answer that changes nothing, or nothing more if it is
        asked twice: if the process dies, the JVM asks the next process again.
        """
        self.looks.append(function.__name__)
        return self.plain(function)

    def plain(self, function: Function) -> Function:
        """Declare a question with one plain answer."""
        self[function.__name__] = plain(function)
        return function

    def talk(self, function: Function) -> Function:
        """Declare a question about which its answer may ask back: it is given a `Talk`, too."""
        self[function.__name__] = _talking(function, lambda found: {"end": found})
        return function

    def look_asking(self, function: Function) -> Function:
        """Declare a `look` that is given a `Talk`, too: its answer comes where a request may."""
        self.looks.append(function.__name__)
        self[function.__name__] = _talking(function, lambda found: found)
        return function

    def streamed(self, function: Function) -> Function:
        """Declare a question whose answer carries rows."""
        self[function.__name__] = function
        return function


class Talk:
    """Requests to the JVM while a question is being answered, one request at a time. A question
    ends with its connection: a JVM that has left is told by Disconnected.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def ask(self, request: str, **fields: Any) -> dict[str, Any]:
        """The JVM's reply to a request."""
        self._channel.send({"ok": {"request": request, **fields}})
        reply = self._channel.receive()
        if reply is None:
            raise Disconnected("the JVM has left")
        return reply


class ErrorSent(Exception):
    """The JVM has been told of an error, which ends the question."""


@contextmanager
def sending_errors(channel: Channel, doing: str) -> Iterator[None]:
    """Within its block, tells the JVM of an error, and raises ErrorSent then."""
    try:
        yield
    except (Disconnected, ErrorSent):
        raise
    except Exception as e:
        channel.send(frames.failure(memory.explained(e), doing))
        raise ErrorSent from e


def functions_of(bringing: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Within its block, users' functions of a question, scan or write are found by name."""
    return provided.by(Sources.from_json(bringing.get(CODE)))


def functions_for(question: frames.Frame, layout: TableLayout) -> dict[str, Any]:
    """The session's functions that a scan or write of a table brings to the executors. The session
    sends all its functions with every question to the driver.
    """
    return {CODE: Sources.from_json(question.get(CODE)).for_options(layout.options)}


def serve(channel: Channel, answers: Mapping[str, Answer]) -> None:
    """Answer until the peer closes. If the input is not a frame, or an answer fails unexpectedly,
    the error is sent and raised: nothing can follow.
    """
    try:
        while (question := channel.receive()) is not None:
            with suppress(ErrorSent):
                with sending_errors(channel, "reading the settings of the session"):
                    check_settings(question)
                named(question, answers)(channel, question)
    except Disconnected:
        raise
    except Exception as e:
        channel.send(frames.failure(e, "reading a question"))
        raise


def check_settings(question: frames.Frame) -> None:
    """Raises TableError if the session that asks has a setting of ours that nobody reads."""
    for name in (question.get(CODE) or {}).get("settings") or ():
        if name not in (*_SETTINGS, _SET_BY_CONFIGURE):
            raise TableError(
                f"setting {name} of the session is unknown; expected one of {', '.join(_SETTINGS)}"
            )


def named(question: frames.Frame, answers: Mapping[str, Answer]) -> Answer:
    """The answer to this question, or one that raises "unknown question"."""
    return answers.get(str(question.get("question")), unknown)


def unknown(channel: Channel, question: frames.Frame) -> None:
    """Refuse a question this version does not know."""
    error = EnvironmentMismatchError(
        f"this worker has no answer to the question {question.get('question')!r}; "
        "jar and Python package are of different versions"
    )
    channel.send(frames.failure(error, "finding an answer"))


def _doing(question: frames.Frame) -> str:
    """The question in words, with the table that it is about."""
    doing, handle = question.get("procedure") or question["question"], question.get("table")
    words = str(doing).replace("_", " ")
    if not isinstance(handle, Mapping):
        return words
    parts = (handle.get(part) for part in ("catalog", "namespace", "table"))
    return f"{words} of table {sql_name(*(part for part in parts if isinstance(part, str)))}"


def plain(function: Plain) -> Answer:
    """An Answer that sends what `function` returns, or the error it raises."""

    def answer(channel: Channel, question: frames.Frame) -> None:
        _send(channel, question, _reply(question, lambda: function(question)))

    return answer


def _talking(function: Callable[[frames.Frame, Talk], Any], told: Callable[[Any], Any]) -> Answer:
    def answer(channel: Channel, question: frames.Frame) -> None:
        talk = Talk(channel)
        _send(channel, question, _reply(question, lambda: told(function(question, talk))))

    return answer


def _send(channel: Channel, question: frames.Frame, reply: frames.Frame) -> None:
    """Sends the answer. Texts of it are made as they are sent: an error takes the place of the
    frame that can't be made, and the connection serves on.
    """
    try:
        channel.send(reply)
    except Disconnected:
        raise
    except Exception as e:
        channel.send(frames.failure(memory.explained(e), _doing(question)))


def _reply(question: frames.Frame, work: Callable[[], Any]) -> dict[str, Any]:
    try:
        with functions_of(question):
            return {"ok": work()}
    except Disconnected:
        raise
    except Exception as e:
        return frames.failure(e, _doing(question))
