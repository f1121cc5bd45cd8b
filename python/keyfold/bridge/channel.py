"""One connection to the JVM: frames and Arrow IPC streams, both ways, over one Unix socket.

Outgoing buffers are gathered and handed to `sendmsg` as they are. Incoming ones are received into
aligned Arrow memory. So there is one copy each way, in the kernel. The loss of the peer raises
`Disconnected`, never an OSError, so that it can't be mistaken for a failure of the storage below.
"""

import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

import pyarrow as pa

from keyfold.bridge import frames

SEND_BUFFER = 1 << 20
BATCH_ROWS = 1 << 16
BATCH_BYTES = 16 << 20
MAX_PIECES = 512


class Disconnected(Exception):
    """The peer closed the connection."""


@dataclass
class Traffic:
    """The rows and bytes one stream carried, and how long each side kept the other waiting."""

    rows: int = 0
    arrow_bytes: int = 0
    batches: int = 0
    work_nanos: int = 0
    socket_nanos: int = 0

    def count(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self.arrow_bytes += batch.nbytes
        self.batches += 1

    def counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass batches on, and count them; the time spent waiting for each is in `socket_nanos`."""
        start = time.perf_counter_ns()
        for batch in batches:
            self.socket_nanos += time.perf_counter_ns() - start
            self.count(batch)
            yield batch
            start = time.perf_counter_ns()

    def metrics(self) -> dict[str, int]:
        """The numbers by name, for an answer frame."""
        return asdict(self)


class Channel:
    """Owns a connected socket; one thread sends and one thread receives."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        connection.setblocking(True)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)

    def receive(self) -> dict[str, Any] | None:
        """The next frame, with the texts of the arrays before it; None if the peer closed the
        connection where a frame could begin.
        """
        texts: list[str] = []
        while (prefix := self._receive_prefix()) is not None:
            body: bytes = receive_exactly(self.connection, frames.body_size(prefix)).to_pybytes()
            if not body.startswith(b"["):
                frame = frames.decode(body)
                return {**frame, frames.MESSAGES: texts} if texts else frame
            texts += frames.decode_texts(body)
        return None

    def send(self, frame: frames.Frame) -> None:
        for pieces in frames.pieces(frame):
            send_pieces(self.connection, list(pieces))

    def check_peer(self) -> None:
        """Raises Disconnected if the peer closed the connection; what it sent can still be read."""
        try:
            if self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                return
        except BlockingIOError:
            return
        except OSError as e:
            raise Disconnected(f"the peer closed the connection: {e}") from e
        raise Disconnected("the peer closed the connection")

    def send_batches(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Traffic:
        """Send an Arrow IPC stream; it is ended properly even if `batches` raises."""
        traffic = Traffic()
        outlet = _Outlet()
        with pa.ipc.new_stream(pa.PythonFile(outlet, mode="w"), schema) as stream:
            try:
                for batch in timed(batches, traffic):
                    for piece in bounded(batch):
                        stream.write_batch(piece)
                        traffic.count(piece)
                        self._flush(outlet, traffic)
            finally:
                stream.close()
                self._flush(outlet, traffic)
        return traffic

    def receive_batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of an incoming Arrow IPC stream, up to its end marker and no byte further.

        The JVM at the other end is ours and of this version. A check ensures that a batch has the
        buffers its columns need; their values are trusted.
        """
        with pa.ipc.open_stream(pa.PythonFile(_Inlet(self.connection), mode="r")) as stream:
            for batch in stream:
                batch.validate()
                yield batch

    def discard(self) -> NoReturn:
        """Take what the peer still sends until it closes; raises Disconnected then."""
        taken = bytearray(SEND_BUFFER)
        try:
            while self.connection.recv_into(taken):
                pass
        except OSError as e:
            raise Disconnected(str(e)) from e
        raise Disconnected("the peer closed the connection")

    def close(self) -> None:
        self.connection.close()

    def _receive_prefix(self) -> bytes | None:
        try:
            first = self.connection.recv(frames.PREFIX.size)
        except OSError:
            return None
        if not first:
            return None
        rest: bytes = receive_exactly(self.connection, frames.PREFIX.size - len(first)).to_pybytes()
        return first + rest

    def _flush(self, outlet: "_Outlet", traffic: Traffic) -> None:
        start = time.perf_counter_ns()
        send_pieces(self.connection, outlet.take())
        traffic.socket_nanos += time.perf_counter_ns() - start


def timed(batches: Iterator[pa.RecordBatch], traffic: Traffic) -> Iterator[pa.RecordBatch]:
    """Pass batches on; the time that each took to make is added to `traffic.work_nanos`."""
    start = time.perf_counter_ns()
    for batch in batches:
        traffic.work_nanos += time.perf_counter_ns() - start
        yield batch
        start = time.perf_counter_ns()


def bounded(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices of at most BATCH_ROWS rows and, if rows are of equal size, BATCH_BYTES bytes."""
    pieces = max(-(-batch.num_rows // BATCH_ROWS), -(-batch.nbytes // BATCH_BYTES), 1)
    rows = max(-(-batch.num_rows // pieces), 1)
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def send_pieces(connection: socket.socket, pieces: list[Any]) -> None:
    """Send buffers back to back; raises Disconnected if the peer is gone."""
    left = [memoryview(piece).cast("B") for piece in pieces]
    try:
        while left:
            left = _unsent(left, connection.sendmsg(left[:MAX_PIECES]))
    except OSError as e:
        raise Disconnected(str(e)) from e


def _unsent(pieces: list[memoryview], sent: int) -> list[memoryview]:
    """The rest of the pieces after their first `sent` bytes."""
    for position, piece in enumerate(pieces):
        if sent < len(piece):
            return [piece[sent:], *pieces[position + 1 :]]
        sent -= len(piece)
    return []


def receive_exactly(connection: socket.socket, size: int) -> pa.Buffer:
    """The next `size` bytes; raises Disconnected if the peer closes before them."""
    buffer = pa.allocate_buffer(size)
    view = memoryview(buffer)
    filled = 0
    while filled < size:
        try:
            received = connection.recv_into(view[filled:], size - filled, socket.MSG_WAITALL)
        except OSError as e:
            raise Disconnected(str(e)) from e
        if received == 0:
            raise Disconnected(f"the peer left {size - filled} bytes short")
        filled += received
    return buffer


class _Outlet:
    """A writable file for Arrow that keeps the buffers until they are taken."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[Any] = []
        self.position = 0

    def write(self, data: Any) -> int:
        size = len(memoryview(data))
        self.pieces.append(data)
        self.position += size
        return size

    def take(self) -> list[Any]:
        pieces, self.pieces = self.pieces, []
        return pieces

    def tell(self) -> int:
        return self.position

    def flush(self) -> None: ...

    def close(self) -> None: ...


class _Inlet:
    """A readable file for Arrow that reads exactly what is asked for."""

    closed = False

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def read(self, size: int) -> pa.Buffer:
        return receive_exactly(self.connection, size)

    def readable(self) -> bool:
        return True

    def close(self) -> None: ...
