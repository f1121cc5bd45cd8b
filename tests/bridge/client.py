"""What the JVM does, in Python: start a fork server, connect, send frames and Arrow streams."""

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from keyfold.bridge import frames
from keyfold.bridge.channel import Channel, receive_exactly
from keyfold.wire.version import PROTOCOL, package_version

TOKEN = "0123456789abcdef"
PATIENCE = 180.0


@dataclass
class Server:
    """A running fork server, seen from its parent."""

    process: subprocess.Popen[bytes]
    directory: Path
    answer: dict[str, Any]
    workers: list["Worker"] = field(default_factory=list)

    def connect(
        self, role: str = "worker", memory: int | None = None, token: str = TOKEN
    ) -> "Worker":
        """Connect and greet."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(PATIENCE)
        connection.connect(str(self.directory / "fork.sock"))
        connection.sendall(frames.encode({"token": token, "role": role, "memory": memory}))
        self.workers.append(Worker(connection))
        return self.workers[-1]

    def leave(self) -> None:
        """Close every connection."""
        while self.workers:
            self.workers.pop().close()

    def processes(self) -> set[int]:
        """The server's pid and its children's."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return {self.process.pid, *map(int, path.read_text().split())}

    def wait(self) -> int:
        """The server's exit code, once it ends."""
        return self.process.wait(PATIENCE)


class Worker(Channel):
    """A connection to a worker."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self.arrays = 0
        self.texts: list[str] = []
        self.hello = self.receive()

    @property
    def pid(self) -> int:
        """The worker's process."""
        return int(self.hello["ok"]["pid"])

    @property
    def log(self) -> Path:
        """Where its stderr goes."""
        return Path(self.hello["ok"]["stderr"])

    def receive(self) -> dict[str, Any] | None:
        """The next frame that is no array, as the JVM reads it: the items of those before it are
        its tasks, `texts` of JSON or of messages.
        """
        self.texts = []
        while (prefix := self._receive_prefix()) is not None:
            body = receive_exactly(self.connection, frames.body_size(prefix)).to_pybytes()
            if not body.startswith(b"["):
                frame = frames.decode(body)
                if self.texts and "ok" in frame:
                    frame["ok"][frames.TASKS] = [*map(_read, self.texts)]
                return frame
            self.texts += json.loads(body)
            self.arrays += 1
        return None

    def ask(self, question: str, **arguments: Any) -> dict[str, Any]:
        """Ask a question and return its first answer frame. Its messages go before it."""
        for text in arguments.pop(frames.MESSAGES, ()):
            body = json.dumps([text]).encode()
            self.connection.sendall(frames.PREFIX.pack(len(body)) + body)
        self.send({"question": question, **arguments})
        answer = self.receive()
        assert answer is not None
        return answer

    def rows(self) -> pa.Table:
        """The incoming stream as a table."""
        return pa.Table.from_batches(list(self.receive_batches()))


def _read(text: str) -> Any:
    """What a text of JSON says; one that is compressed as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@contextmanager
def server(
    within: str | None = None, program: Sequence[str] = ("-m", "keyfold.bridge"), **changes: Any
) -> Iterator[Server]:
    """A fork server that has said ready, or an error; ended and waited for afterwards. Its folder
    is a new one within another, or in the system's for temporary files.
    """
    hello = {
        "protocol": PROTOCOL,
        "version": package_version(),
        "token": TOKEN,
        "temporary": within or tempfile.gettempdir(),
    }
    process = subprocess.Popen(
        [sys.executable, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(hello | changes).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline() or b"{}")
        started = Server(process, Path(answer.get("directory", "")), answer)
        try:
            yield started
        finally:
            started.leave()
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(PATIENCE)


def eventually(true: Callable[[], bool]) -> bool:
    """Whether it becomes true before patience ends."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return False


def is_running(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def size_of(path: Path) -> int:
    """The size of a file, 0 if there is none."""
    return path.stat().st_size if path.exists() else 0
