"""Two ways for batches from one process to another: `python -m integration.bench.transport [rows]`.

The batches of a compacted table of so many rows (8,000,000 unless said) go over a socket into
memory of the reader's own, as the JVM takes them from a worker, and through memory that both have
mapped, where the reader leaves them. The reader looks at each byte. Seconds of processor of both
processes, the least of some turns.
"""

from __future__ import annotations

import mmap
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

import keyfold
from integration.bench import data
from integration.bench.data import Shape

SEED, TURNS, SLOTS = 2013, 5, 4
Pieces = list[memoryview]


def pieces(batches: Sequence[pa.RecordBatch]) -> list[Pieces]:
    """The buffers of each batch."""
    return [
        [memoryview(b) for column in batch.columns for b in column.buffers() if b is not None]
        for batch in batches
    ]


def touched(data: memoryview) -> None:
    """Look at every byte."""
    np.frombuffer(data, np.uint8)[: len(data) & ~7].view(np.int64).max()


def by_socket(sent: list[Pieces], largest: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """A sender and a receiver that copies into memory of its own."""
    left, right = socket.socketpair()

    def send() -> None:
        for batch in sent:
            for piece in batch:
                left.sendall(piece)

    def receive() -> None:
        own = memoryview(bytearray(largest))
        for batch in sent:  # of which a forked receiver uses the sizes alone
            size = sum(len(piece) for piece in batch)
            at = 0
            while at < size:
                at += right.recv_into(own[at:size])
            touched(own[:size])

    return send, receive


def by_memory(sent: list[Pieces], largest: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """A sender that copies into shared slots, and a receiver that reads there."""
    left, right = socket.socketpair()
    room = -(-largest // mmap.PAGESIZE) * mmap.PAGESIZE
    area = memoryview(mmap.mmap(-1, SLOTS * room))

    def slot(number: int, size: int) -> memoryview:
        start = number % SLOTS * room
        return area[start : start + size]

    def send() -> None:
        for number, batch in enumerate(sent):
            if number >= SLOTS:
                left.recv(1)
            at, into = 0, slot(number, room)
            for piece in batch:
                into[at : at + len(piece)] = piece.cast("B")
                at += len(piece)
            left.sendall(b"+")

    def receive() -> None:
        for number, batch in enumerate(sent):
            right.recv(1)
            touched(slot(number, sum(len(piece) for piece in batch)))
            right.sendall(b"-")

    return send, receive


def processor(send: Callable[[], None], receive: Callable[[], None]) -> float:
    """Seconds of the processor that both take."""
    child = os.fork()
    if not child:
        receive()
        os._exit(0)
    before = time.process_time()
    send()
    spent = time.process_time() - before
    _, status, used = os.wait4(child, 0)
    assert status == 0
    return spent + used.ru_utime + used.ru_stime


def filled(folder: Path, rows: int) -> list[Pieces]:
    """The batches that tasks send of a table of one run, in the benchmark's shape."""
    shape, catalog = Shape(1, rows), keyfold.connect(str(folder))
    random = data.random_of(SEED, shape, 0)
    table = catalog.create_table("t", shape.columns, shape.keys, options={"bucket": "2"})
    table.upsert(data.batch(shape, data.drawn(shape, 0, random), 0, random))
    return pieces(list(table.scan().to_batches()))


def main(rows: int) -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as made:
        sent = filled(Path(made), rows)
    sizes = [sum(len(piece) for piece in batch) for batch in sent]
    for label, way in (("over a socket", by_socket), ("in shared memory", by_memory)):
        found = min(processor(*way(sent, max(sizes))) for _ in range(TURNS))
        print(f"{label:18}{sum(sizes) / 1e6:.0f} MB, {found:.3f} s of processor", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8_000_000)
