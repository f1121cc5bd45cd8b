"""Conversations gone wrong: frames that say something else, or end too soon, or are not there.

A conversation is a list of pieces, each a frame or an Arrow stream; `mutated` damages its frames. A
stream comes whole or cut off: the JVM that writes it is ours, and what it says is believed.
"""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from keyfold.bridge import frames

Conversation = Sequence[bytes]
MOST_BYTES = 96 << 10  # fits the buffer of a socket, so that nobody has to read meanwhile
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 31, 1 << 63, 1e300, "", "x", "\ud800", "\0", [], {}, [[]], {"": None}
)  # fmt: skip
EDGES = (0x00, 0x01, 0x7F, 0x80, 0xFF)
SIZES = (0, 1, 4, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)


def mutated(draw: random.Random, corpus: Sequence[Conversation]) -> bytes:
    """A damaged conversation, or bytes that were never one."""
    if draw.random() < 0.1:
        return draw.randbytes(draw.choice((0, 1, 3, 4, 5, 64, 4096)))
    pieces = list(draw.choice(corpus))
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        draw.choice(OF_PIECES)(draw, pieces, corpus)
    if draw.random() < 0.7:
        for _ in range(draw.choice((1, 1, 2, 8))):
            _hurt(draw, pieces)
    data = bytearray(b"".join(pieces))
    if draw.random() < 0.1:
        _truncate(draw, data)
    return bytes(data[:MOST_BYTES])


def _frames(pieces: list[bytes]) -> list[int]:
    """The places of frames among the pieces."""
    return [at for at, piece in enumerate(pieces) if piece[frames.PREFIX.size :][:1] == b"{"]


def _hurt(draw: random.Random, pieces: list[bytes]) -> None:
    """Bytes of a frame, its length included."""
    if places := _frames(pieces):
        at = draw.choice(places)
        data = bytearray(pieces[at])
        draw.choice(OF_BYTES)(draw, data)
        pieces[at] = bytes(data)


def _place(draw: random.Random, data: bytearray) -> int:
    return draw.randrange(len(data)) if data else 0


def _flip(draw: random.Random, data: bytearray) -> None:
    if data:
        data[_place(draw, data)] ^= 1 << draw.randrange(8)


def _replace(draw: random.Random, data: bytearray) -> None:
    if data:
        data[_place(draw, data)] = draw.choice((*EDGES, draw.randrange(256)))


def _number(draw: random.Random, data: bytearray) -> None:
    """A length or an offset: four bytes, of either byte order."""
    at = _place(draw, data) & ~3
    data[at : at + 4] = draw.choice(SIZES).to_bytes(4, draw.choice(("big", "little")))


def _truncate(draw: random.Random, data: bytearray) -> None:
    del data[_place(draw, data) :]


def _cut(draw: random.Random, data: bytearray) -> None:
    at = _place(draw, data)
    del data[at : at + draw.choice((1, 4, 8, 100))]


def _insert(draw: random.Random, data: bytearray) -> None:
    at = _place(draw, data)
    data[at:at] = draw.randbytes(draw.choice((1, 4, 8, 100)))


def _repeat(draw: random.Random, data: bytearray) -> None:
    start, at = _place(draw, data), _place(draw, data)
    data[at:at] = data[start : start + draw.choice((1, 8, 500))]


OF_BYTES: tuple[Callable[[random.Random, bytearray], None], ...] = (
    _flip, _flip, _replace, _replace, _number, _number, _truncate, _cut, _insert, _repeat
)  # fmt: skip


def _nothing(draw: random.Random, pieces: list[bytes], corpus: Sequence[Conversation]) -> None:
    """The bytes alone are damaged."""


def _leave_out(draw: random.Random, pieces: list[bytes], corpus: Sequence[Conversation]) -> None:
    if pieces:
        del pieces[draw.randrange(len(pieces))]


def _mix(draw: random.Random, pieces: list[bytes], corpus: Sequence[Conversation]) -> None:
    """A piece of another conversation."""
    pieces.insert(draw.randint(0, len(pieces)), draw.choice(draw.choice(corpus)))


def _swap(draw: random.Random, pieces: list[bytes], corpus: Sequence[Conversation]) -> None:
    draw.shuffle(pieces)


def _misspeak(draw: random.Random, pieces: list[bytes], corpus: Sequence[Conversation]) -> None:
    """A proper frame that says something else: a value of another type, a key too few."""
    if places := _frames(pieces):
        at = draw.choice(places)
        said = json.loads(pieces[at][frames.PREFIX.size :])
        _change(draw, said)
        pieces[at] = frames.encode(said)


def _change(draw: random.Random, tree: Any) -> None:
    """Something in a tree of JSON, somewhere down."""
    while isinstance(tree, dict | list) and tree:
        key = draw.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        if not isinstance(tree[key], dict | list) or not tree[key] or draw.random() < 0.15:
            if draw.random() < 0.2:
                del tree[key]
            else:
                tree[key] = draw.choice(STRANGE)
            return
        tree = tree[key]


OF_PIECES: tuple[
    Callable[[random.Random, list[bytes], Sequence[Conversation]], None], ...
] = (_nothing, _nothing, _leave_out, _mix, _swap, _misspeak, _misspeak)  # fmt: skip
