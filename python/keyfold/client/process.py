"""The life of a client's process: one connection, the questions of one writer or look-up after the
other. It is forked as a worker is, and keeps what its look-ups have decoded.
"""

import socket

from keyfold.client.rows import ANSWERS
from keyfold.questions import executor
from keyfold.storage.maintenance.due import EXPIRY, FAREWELL_SECONDS


def live(connection: socket.socket, allowed: int | None, log: str) -> None:
    """Serve one connection until its peer leaves. An expiry that is running then gets a moment
    more.
    """
    executor.live(connection, allowed, log, ANSWERS)
    EXPIRY.finish(FAREWELL_SECONDS)
