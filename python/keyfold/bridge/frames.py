"""Frames: a 4-byte big-endian length, then that many bytes of UTF-8 JSON.

An answer is {"ok": …} or {"error": {"kind", "message", "cause", "traceback"}}; our message comes
first, the cause second, the Python traceback last. An error that says what to do has a traceback
only if TRACEBACK is in the environment. Rows never travel in frames.
"""

import json
import os
import secrets
import struct
import traceback
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from keyfold.errors import EnvironmentMismatchError, KeyfoldError, NotSupportedError
from keyfold.stores import refusals

PREFIX = struct.Struct(">I")
FRAME_LIMIT = 512 << 20
TRACEBACK = "KEYFOLD_TRACEBACK"
_ITEMS_OF_PART = 1_000
_HELD = secrets.token_hex()  # stands for items that are written already

Frame = Mapping[str, Any]


class MalformedFrameError(EnvironmentMismatchError):
    """The bytes that arrived are not a frame of this protocol."""


class WrittenItems:
    """A JSON array in a frame, whose items are JSON already. They are kept as bytes, so that a long
    array takes no more memory than is sent.
    """

    def __init__(self, items: Iterable[str]) -> None:
        left, parts = iter(items), list[bytes]()
        while several := list(islice(left, _ITEMS_OF_PART)):
            parts += [b"," if parts else b"[", _encoded(",".join(several))]
        self.parts = [*parts, b"]"] if parts else [b"[]"]


def encode(frame: Frame) -> bytes:
    """The frame's bytes, prefix included."""
    return b"".join(pieces(frame))


def pieces(frame: Frame) -> list[bytes]:
    """The frame's bytes in parts, prefix included. Half a surrogate pair, which a name that is not
    UTF-8 has, is sent as its JSON escape. Raises NotSupportedError if it is above FRAME_LIMIT.
    """
    written: list[WrittenItems] = []

    def held(value: Any) -> str:
        if not isinstance(value, WrittenItems):
            raise TypeError(f"a frame holds JSON and {WrittenItems.__name__}, found {value!r}")
        written.append(value)
        return _HELD

    text = json.dumps(frame, separators=(",", ":"), ensure_ascii=False, default=held)
    between = text.split(f'"{_HELD}"') if written else [text]
    parts = [_encoded(between[0])]
    for items, after in zip(written, between[1:], strict=True):
        parts += [*items.parts, _encoded(after)]
    size = sum(map(len, parts))
    if size > FRAME_LIMIT:
        raise NotSupportedError(
            f"expected an answer of at most {FRAME_LIMIT} bytes, found {size}: it lists too many "
            "files at once; name partitions in the condition of the statement"
        )
    return [PREFIX.pack(size), *parts]


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
