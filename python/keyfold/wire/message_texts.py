"""Commit messages as texts, which the JVM keeps from a task to its commit and never looks into.

A file takes a kilobyte in JSON, most of it alike. So long texts are compressed, to a fifth, and a
text has messages of PART_BYTES before that, or little more: a job of any number of files travels in
small frames. The commit keeps the texts, and makes messages of them where it goes through these: as
objects the files of a large job would not fit into the memory of a driver.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, overload

from keyfold.lazy import cached_property
from keyfold.wire.partitions import Partition
from keyfold.wire.specs import CommitMessage

PART_BYTES = 256 << 10
COMPRESSED_FROM = 16 << 10  # about twenty files: what compresses fewer takes longer than it saves


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


class MessageHead(NamedTuple):
    """The place of a message's files, their number, and that of its changelog files."""

    partition: Partition
    bucket: int
    total_buckets: int
    files: int
    changelog: int


class Messages(Sequence[CommitMessage]):
    """The messages of texts, in their order. They are made anew each time that they are gone
    through, a text at a time.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = list(texts)

    def __iter__(self) -> Iterator[CommitMessage]:
        return map(CommitMessage.from_json, self._read())

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        return bool(self._texts)  # each has messages

    @overload
    def __getitem__(self, place: int) -> CommitMessage: ...
    @overload
    def __getitem__(self, place: slice) -> list[CommitMessage]: ...
    def __getitem__(self, place: int | slice) -> CommitMessage | list[CommitMessage]:
        """The message at a place, which goes through those before it."""
        if isinstance(place, slice):
            return list(self)[place]
        found = next(islice(self, place if place >= 0 else len(self) + place, None), None)
        if found is None:
            raise IndexError(place)
        return found

    def heads(self) -> Iterator[MessageHead]:
        """The place of each message, which is read without making the message."""
        before, partition = None, Partition.from_json(None)
        for found in self._read():
            if found["partition"] != before:
                before, partition = found["partition"], Partition.from_json(found["partition"])
            bucket, total, files = found["bucket"], found["total_buckets"], len(found["files"])
            yield MessageHead(partition, bucket, total, files, len(found["changelog"]))

    @cached_property
    def _length(self) -> int:
        return sum(1 for _ in self._read())

    def _read(self) -> Iterator[Any]:
        for text in self._texts:
            is_plain = text.startswith("[")
            yield from json.loads(text if is_plain else zlib.decompress(base64.b64decode(text)))


def heads(messages: Iterable[CommitMessage]) -> Iterator[MessageHead]:
    """The place of each message."""
    if isinstance(messages, Messages):
        return messages.heads()
    return (
        MessageHead(m.partition, m.bucket, m.total_buckets, len(m.files), len(m.changelog))
        for m in messages
    )


def _text(messages: list[str]) -> str:
    plain = f"[{','.join(messages)}]"
    if len(plain) < COMPRESSED_FROM:
        return plain
    return base64.b64encode(zlib.compress(plain.encode(), 1)).decode("ascii")
