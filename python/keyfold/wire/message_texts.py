"""Commit messages as texts, which the JVM keeps from a task to its commit and never looks into.

A file takes kilobytes in JSON, most of them alike. So long texts are compressed, to a tenth, and a
text has messages of PART_BYTES before that, or little more: a job of any number of files travels in
small frames.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator

from keyfold.wire.specs import CommitMessage

PART_BYTES = 256 << 10
COMPRESSED_FROM = 16 << 10  # about six files: what compresses fewer takes longer than it saves


def texts_of(messages: Iterable[CommitMessage]) -> Iterator[str]:
    """The texts of messages, in their order."""
    held, size = list[str](), 0
    for message in messages:
        held.append(json.dumps(message.to_json(), separators=(",", ":")))
        size += len(held[-1])
        if size >= PART_BYTES:
            yield _text(held)
            held, size = [], 0
    if held:
        yield _text(held)


def messages_of(texts: Iterable[str]) -> Iterator[CommitMessage]:
    """The messages of texts, in their order."""
    for text in texts:
        is_plain = text.startswith("[")
        found = json.loads(text if is_plain else zlib.decompress(base64.b64decode(text)))
        yield from map(CommitMessage.from_json, found)


def _text(messages: list[str]) -> str:
    plain = f"[{','.join(messages)}]"
    if len(plain) < COMPRESSED_FROM:
        return plain
    return base64.b64encode(zlib.compress(plain.encode(), 1)).decode("ascii")
