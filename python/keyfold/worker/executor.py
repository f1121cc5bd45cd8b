"""The life of an executor's worker: one connection, the questions `read` and `write`.

Importing this module loads all that such a worker needs, so the fork server imports it once, before
its first fork. pypaimon, pandas and pyspark are never among it.
"""

import os
import socket
from collections.abc import Mapping

from keyfold.errors import KeyfoldError
from keyfold.worker import memory, read, wire, write
from keyfold.worker.channel import Channel, Disconnected
from keyfold.worker.serve import Answer, serve

ANSWERS: Mapping[str, Answer] = {"read": read.answer, "write": write.answer}


def live(connection: socket.socket, allowed: int | None, log: str) -> None:
    """Serve one connection until its peer leaves; `allowed` caps the memory in bytes."""
    channel = Channel(connection)
    try:
        try:
            memory.cap(allowed)
        except KeyfoldError as e:
            channel.send(wire.failure(e, "starting a worker"))
            return
        channel.send({"ok": {"pid": os.getpid(), "stderr": log}})
        serve(channel, ANSWERS)
    except Disconnected:
        return
