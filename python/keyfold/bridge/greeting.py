"""The first frame of a connection, collected without blocking the server's loop.

{"token": …, "role": "worker" | "driver", "memory": bytes | null}. Exactly the frame is read: what
follows it is for the worker.
"""

import hmac
import socket
from dataclasses import dataclass

from keyfold.bridge import frames

LIMIT = 1 << 16
ROLES = ("worker", "driver")


@dataclass(frozen=True)
class Greeting:
    """Who connects, for what."""

    role: str
    memory: int | None


class Arrival:
    """A connection whose greeting is still arriving."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.received = b""
        connection.setblocking(False)

    def receive(self) -> bool:
        """Take what has arrived; True once the greeting is whole. EOFError if the peer is gone."""
        while wanted := self._wanted():
            try:
                data = self.connection.recv(wanted)
            except BlockingIOError:
                return False
            if not data:
                raise EOFError("the peer left before its greeting was whole")
            self.received += data
        return True

    def greeting(self, token: str) -> Greeting | None:
        """The greeting, or None if its token is not the server's."""
        frame = frames.decode(self.received[frames.PREFIX.size :])
        said = str(frame.get("token")).encode("utf-8", "backslashreplace")
        if not hmac.compare_digest(said, token.encode()):
            return None
        role, memory = frame.get("role"), frame.get("memory")
        if role not in ROLES or not (memory is None or isinstance(memory, int)):
            raise frames.MalformedFrameError(f"no greeting: role {role!r}, memory {memory!r}")
        return Greeting(role, memory)

    def _wanted(self) -> int:
        """How many bytes of the greeting are missing."""
        head = frames.PREFIX.size
        if len(self.received) < head:
            return head - len(self.received)
        return head + frames.body_size(self.received[:head], LIMIT) - len(self.received)
