"""The life of a client's process: one connection, the questions of one writer or look-up after the
other. It is forked as a worker is, and keeps what its look-ups have decoded. Its memory is that of
a Python program, and has no cap: that of workers is made for tasks, of which many run at once.
"""

import socket

from keyfold.client.rows import ANSWERS
from keyfold.questions import executor
from keyfold.storage.maintenance.due import EXPIRY, FAREWELL_SECONDS


def live(connection: socket.socket, log: str) -> None:
    """Serve one connection until its peer leaves. An expiry that is running then gets a moment
    more.
    """
    executor.answer(connection, log, ANSWERS)
    EXPIRY.finish(FAREWELL_SECONDS)
