"""The fork server's event loop: descriptors and signals, one thread, one callback each.

It uses poll(2), not `selectors`: to watch for nothing but a hang-up needs an empty event mask.
"""

import select
import signal
import socket
from collections.abc import Callable

READABLE = select.POLLIN
HANG_UP_ONLY = 0
Callback = Callable[[], None]


class EventLoop:
    """Owns the poll set and the pipe that turns signals into events."""

    def __init__(self) -> None:
        self.poll = select.poll()
        self.callbacks: dict[int, Callback] = {}
        self.alarm, self.wakeup = socket.socketpair()
        self.alarm.setblocking(False)
        self.wakeup.setblocking(False)
        signal.set_wakeup_fd(self.wakeup.fileno(), warn_on_full_buffer=False)

    def watch(self, descriptor: int, callback: Callback, mask: int = READABLE) -> None:
        """Call back when the descriptor is readable, or with HANG_UP_ONLY when its peer closes."""
        self.callbacks[descriptor] = callback
        self.poll.register(descriptor, mask)

    def forget(self, descriptor: int) -> None:
        """Stop watching the descriptor; does nothing if it was not watched."""
        if self.callbacks.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)

    def on_signal(self, callback: Callback) -> None:
        """Call back after any signal that has a Python handler."""

        def drained() -> None:
            self.alarm.recv(4096)
            callback()

        self.watch(self.alarm.fileno(), drained)

    def turn(self, seconds: float | None) -> bool:
        """Wait for events, at most `seconds`, and call back for each; whether there was one."""
        found = self.poll.poll(None if seconds is None else seconds * 1000)
        for descriptor, _ in found:
            callback = self.callbacks.get(descriptor)
            if callback is not None:
                callback()
        return bool(found)

    def close(self) -> None:
        self.alarm.close()
        self.wakeup.close()
