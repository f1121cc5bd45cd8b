"""The life of the driver's process: every driver connection of one JVM, each in a thread.

Connections arrive as descriptors over a socket from the fork server. This process ends when that
socket does.
"""

import os
import socket
import threading
from collections.abc import Mapping

from keyfold.bridge.channel import Channel, Disconnected
from keyfold.questions import (
    aggregates,
    catalog,
    changes,
    commit,
    compact,
    metadata,
    partitions,
    procedures,
    scalar_functions,
    scan,
    streams,
    views,
)
from keyfold.questions.serve import Answer, serve
from keyfold.storage.maintenance.due import EXPIRY, FAREWELL_SECONDS

FAMILIES = (
    catalog,
    scan,
    changes,
    commit,
    compact,
    metadata,
    partitions,
    procedures,
    aggregates,
    scalar_functions,
    streams,
    views,
)
ANSWERS: Mapping[str, Answer] = {
    name: answer for family in FAMILIES for name, answer in family.QUESTIONS.items()
}
REPEATABLE = [name for family in FAMILIES for name in family.QUESTIONS.looks]


def live(passing: socket.socket, log: str) -> None:
    """Serve every connection that is passed, until the fork server closes `passing`. An expiry that
    is running then gets a moment more.
    """
    while descriptors := socket.recv_fds(passing, 1, 1)[1]:
        connection = socket.socket(fileno=descriptors[0])
        threading.Thread(target=_serve, args=(connection, log), daemon=True).start()
    EXPIRY.finish(FAREWELL_SECONDS)


def _serve(connection: socket.socket, log: str) -> None:
    channel = Channel(connection)
    try:
        channel.send({"ok": {"pid": os.getpid(), "stderr": log, "repeatable": REPEATABLE}})
        serve(channel, ANSWERS)
    except Disconnected:
        return
    finally:
        channel.close()
