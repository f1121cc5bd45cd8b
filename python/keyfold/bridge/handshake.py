"""How the JVM meets a new fork server, and how each of its connections says who it is.

They meet with one line of JSON each way, over stdin and stdout. The JVM sends its protocol,
version, token and folder for temporary files. The server answers `ready` and its private directory,
or an error if jar and package don't fit together. After that line stdout has no meaning. The first
frame of a connection is {"token": …, "role": "worker" | "client" | "driver", "memory": bytes |
null}, collected without blocking the server's loop. Exactly the frame is read: the bytes after it
are for the worker.
"""

from __future__ import annotations

import hmac
import json
import os
import platform
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from keyfold.bridge import frames
from keyfold.errors import EnvironmentMismatchError
from keyfold.wire.version import PROTOCOL, package_version


@dataclass(frozen=True)
class Hello:
    """The JVM's first line; `temporary` is its folder for temporary files, `files` the one in which
    Spark puts those it ships.
    """

    protocol: int
    version: str
    token: str
    temporary: str
    files: Path | None = None


def receive(line: str) -> Hello:
    """Parse the JVM's line; raises EnvironmentMismatchError if it is not one."""
    try:
        said: Mapping[str, Any] = json.loads(line)
        protocol, version, token = said["protocol"], said["version"], said["token"]
        temporary, files = str(said.get("temporary", "/tmp")), said.get("files")
        return Hello(protocol, version, token, temporary, None if files is None else Path(files))
    except (ValueError, KeyError, TypeError) as e:
        raise EnvironmentMismatchError(
            "python -m keyfold.bridge is started by keyfold's jar, which writes one line of JSON "
            f"to its stdin; found {line[:80]!r} ({type(e).__name__}: {e})"
        ) from e


def check(hello: Hello) -> None:
    """Refuse a jar of another version than this package."""
    ours = package_version()
    if hello.version == ours and hello.protocol == PROTOCOL:
        return
    raise EnvironmentMismatchError(
        f"the jar is keyfold {hello.version} (protocol {hello.protocol}), the Python package that "
        f"{sys.executable} has installed is keyfold {ours} (protocol {PROTOCOL}); use the jar in "
        f"that package ({sys.executable} -m keyfold jar-path), or install the jar's version there "
        f"({sys.executable} -m pip install keyfold=={hello.version}), or name another Python with "
        "spark.keyfold.python and spark.keyfold.driver.python"
    )


def ready(directory: Path) -> dict[str, Any]:
    """The answer of a server that listens and is warm: what it is, and where its socket is."""
    return {
        "ready": True,
        "protocol": PROTOCOL,
        "version": package_version(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "pid": os.getpid(),
        "directory": str(directory),
    }


def say(line: Mapping[str, Any], out: TextIO) -> None:
    """Write the one line the JVM reads."""
    out.write(json.dumps(line) + "\n")
    out.flush()


LIMIT = 1 << 16
ROLES = ("worker", "client", "driver")


class Arrival:
    """A connection whose greeting is still arriving."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.received = b""
        connection.setblocking(False)

    def receive(self) -> bool:
        """Take arrived bytes; True if these are all. Raises EOFError if the peer is gone."""
        while wanted := self._wanted():
            try:
                data = self.connection.recv(wanted)
            except BlockingIOError:
                return False
            if not data:
                raise EOFError("the peer left before its greeting was whole")
            self.received += data
        return True

    def greeting(self, token: str) -> tuple[str, int | None] | None:
        """The role that the connection asks for, and its memory cap; None if its token is not the
        server's.
        """
        frame = frames.decode(self.received[frames.PREFIX.size :])
        said = str(frame.get("token")).encode("utf-8", "backslashreplace")
        if not hmac.compare_digest(said, token.encode()):
            return None
        role, memory = frame.get("role"), frame.get("memory")
        if role not in ROLES or not (memory is None or isinstance(memory, int)):
            raise frames.MalformedFrameError(f"no greeting: role {role!r}, memory {memory!r}")
        return role, memory

    def _wanted(self) -> int:
        """How many bytes of the greeting are missing."""
        head = frames.PREFIX.size
        if len(self.received) < head:
            return head - len(self.received)
        return head + frames.body_size(self.received[:head], LIMIT) - len(self.received)
