"""Ports for servers of tests that can't take whichever one is free."""

import random
import socket

SERVERS = range(20_000, 30_000)  # Linux gives clients ports above
_HELD: list[socket.socket] = []
_DRAW = random.SystemRandom()


def free_port() -> int:
    """A port of this machine that no other process of tests gets as long as this one runs: a socket
    that is named after the port is held for it.
    """
    while True:
        port = _DRAW.choice(SERVERS)
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(f"\0keyfold-port-{port}")
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            held.close()
            continue
        _HELD.append(held)
        return port
