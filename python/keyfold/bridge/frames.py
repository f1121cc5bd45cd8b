"""Frames: a 4-byte big-endian length, then that many bytes of UTF-8 JSON.

An answer is {"ok": …} or {"error": {"kind", "message", "cause", "traceback"}}; our message comes
first, the cause second, the Python traceback last. An error that says what to do has a traceback
only if TRACEBACK is in the environment. Frames that are arrays of texts come before an answer or a
question, so that each stays small: these texts are the TASKS of an answer, the MESSAGES of a
question. Rows never travel in frames.
"""

import json
import os
import struct
import traceback
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from json.encoder import encode_basestring as quoted
from typing import Any

from keyfold.errors import EnvironmentMismatchError, KeyfoldError, NotSupportedError
from keyfold.stores import refusals

PREFIX = struct.Struct(">I")
FRAME_LIMIT = 512 << 20
TRACEBACK = "KEYFOLD_TRACEBACK"
PART_BYTES = 256 << 10
TASKS = "tasks"
MESSAGES = "messages"

Frame = Mapping[str, Any]


class MalformedFrameError(EnvironmentMismatchError):
    """The bytes that arrived are not a frame of this protocol."""


class TaskTexts:
    """The field TASKS of an answer, a list of texts as long as may be. It travels before the
    answer, in arrays of PART_BYTES each, and no text is made before those that are sent.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def arrays(self) -> Iterator[bytes]:
        """The texts as JSON arrays of PART_BYTES or little more."""
        held, size = list[bytes](), 0
        for text in self:
            held.append(_encoded(quoted(text)))
            size += len(held[-1])
            if size >= PART_BYTES:
                yield b"[%s]" % b",".join(held)
                held, size = [], 0
        if held:
            yield b"[%s]" % b",".join(held)


class TaskArrays(TaskTexts):
    """The field TASKS of an answer, whose texts are in arrays already."""

    def __init__(self, bodies: Iterable[bytes]) -> None:
        self._bodies = bodies

    def __iter__(self) -> Iterator[str]:
        return (text for body in self._bodies for text in decode_texts(body))

    def arrays(self) -> Iterator[bytes]:
        return iter(self._bodies)


def encode(frame: Frame) -> bytes:
    """The bytes of a frame, prefix included, and of the arrays that travel before it."""
    return b"".join(chain.from_iterable(pieces(frame)))


def pieces(frame: Frame) -> Iterator[tuple[bytes, bytes]]:
    """The prefix and the body of a frame, after those of each array that travels before it. Half a
    surrogate pair, which a name that is not UTF-8 has, is sent as its JSON escape. Raises
    NotSupportedError if one is above FRAME_LIMIT.
    """
    answer = frame.get("ok")
    if isinstance(answer, Mapping) and isinstance(answer.get(TASKS), TaskTexts):
        yield from map(_sized, answer[TASKS].arrays())
        frame = {**frame, "ok": {**answer, TASKS: []}}
    yield _sized(_encoded(text_of(frame)))


def _sized(body: bytes) -> tuple[bytes, bytes]:
    if len(body) > FRAME_LIMIT:
        raise NotSupportedError(
            f"expected an answer of at most {FRAME_LIMIT} bytes, found {len(body)}: it lists too "
            "many files at once; name partitions in the condition of the statement"
        )
    return PREFIX.pack(len(body)), body


def text_of(value: Any) -> str:
    """A JSON value as text, as it travels."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def body_size(prefix: bytes, limit: int = FRAME_LIMIT) -> int:
    """The number of bytes after the prefix; raises MalformedFrameError if it is above `limit`."""
    size: int = PREFIX.unpack(prefix)[0]
    if size > limit:
        raise MalformedFrameError(
            f"expected a frame of at most {limit} bytes, found a prefix announcing {size}; "
            "something other than keyfold's jar writes to this socket"
        )
    return size


def decode(body: bytes) -> dict[str, Any]:
    """The JSON object in a frame's body; raises MalformedFrameError if it is anything else."""
    try:
        frame = json.loads(body)
    except (ValueError, RecursionError) as e:
        raise MalformedFrameError(f"expected JSON in a frame, found {body[:80]!r}: {e}") from e
    if not isinstance(frame, dict):
        raise MalformedFrameError(f"expected a JSON object in a frame, found {body[:80]!r}")
    return frame


def decode_texts(body: bytes) -> list[str]:
    """The texts of a frame that is an array; raises MalformedFrameError if it is anything else."""
    try:
        texts = json.loads(body)
    except (ValueError, RecursionError) as e:
        raise MalformedFrameError(f"expected JSON in a frame, found {body[:80]!r}: {e}") from e
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise MalformedFrameError(
            f"expected a JSON object or an array of texts in a frame, found {body[:80]!r}"
        )
    return texts


def failure(error: BaseException, doing: str) -> dict[str, Any]:
    """The error answer for an exception raised while `doing` something."""
    is_unforeseen = not isinstance(error, KeyfoldError) and refusals.advice(error) is None
    raised, cause = error, _news(error) if isinstance(error, KeyfoldError) else error
    if isinstance(error, OSError):
        error = refusals.explained(error, doing)
    ours = isinstance(error, KeyfoldError)
    return {
        "error": {
            "kind": error.kind if isinstance(error, KeyfoldError) else KeyfoldError.kind,
            "message": str(error) if ours else f"{doing} failed: {describe(error)}",
            "cause": None if cause is None else describe(cause),
            "traceback": told(raised) if is_unforeseen or os.environ.get(TRACEBACK) else None,
        }
    }


def _news(error: BaseException) -> BaseException | None:
    """The nearest cause of an exception whose text is not part of that of the exception."""
    cause = error.__cause__
    while cause is not None and str(cause) and str(cause) in str(error):
        cause = cause.__cause__
    return cause


def told(error: BaseException) -> str:
    """The traceback, with those of the exceptions that caused it."""
    return "".join(traceback.format_exception(error))


def describe(error: BaseException) -> str:
    """Type and text of an exception on one line or more."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
