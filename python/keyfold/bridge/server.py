"""The fork server: one per JVM, gone when the JVM is.

One thread waits for connections, for the end of stdin (the JVM is gone), for signals and for its
children. Until it has loaded what workers share, it does that in between. Each connection says who
it is (handshake.py) and becomes a new worker, or goes to the one driver process.
"""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping

from keyfold.bridge import frames
from keyfold.bridge.children import Child, Children
from keyfold.bridge.directory import PrivateDirectory
from keyfold.bridge.handshake import Arrival
from keyfold.bridge.loop import EventLoop
from keyfold.errors import KeyfoldError

BACKLOG = 1024
STDIN = 0
Live = Callable[[socket.socket, int | None], None]
LiveAsDriver = Callable[[socket.socket], None]
log = logging.getLogger(__name__)


class ForkServer:
    """Owns the listening socket and, through `children`, every process.

    `lives` has the roles whose connections are processes of their own: each gets a connection and
    its memory cap. `live_as_driver` gets a socket over which connections are passed. Each is the
    whole life of a forked process. `loading` loads what workers share, a little at each step, and
    is at its end before there is one.
    """

    def __init__(
        self,
        directory: PrivateDirectory,
        token: str,
        lives: Mapping[str, Live],
        live_as_driver: LiveAsDriver,
        loading: Iterator[None],
    ) -> None:
        self.directory = directory
        self.token = token
        self.lives = lives
        self.live_as_driver = live_as_driver
        self.loading: Iterator[None] | None = loading
        self.ending = False
        self.arrivals: dict[int, Arrival] = {}
        self.loop = EventLoop()
        self.children = Children(directory, self.loop)
        self.driver: tuple[Child, socket.socket] | None = None
        self.listener = listening(directory)
        self._handle_signals()
        self.loop.watch(self.listener.fileno(), self._accept)
        self.loop.watch(STDIN, self._read_stdin)
        self.loop.on_signal(self.children.reap)

    def run(self) -> None:
        """Serve until stdin ends or SIGTERM comes."""
        while not self.ending:
            overdue = self.children.kill_overdue()
            if not self.loop.turn(overdue if self.loading is None else 0.0):
                self._load_on()

    def _load_on(self) -> None:
        try:
            if self.loading is not None:
                next(self.loading)
        except StopIteration:
            self.loading = None
        except Exception:  # a worker that needs it meets it too, and tells it
            log.exception("what workers need can't be loaded beforehand")
            self.loading = None

    def close(self) -> None:
        """End every process and remove the private directory."""
        self.listener.close()
        if self.driver is not None:
            self.driver[1].close()
        self.children.end()
        self.directory.remove()

    def _driver_process(self) -> tuple[Child, socket.socket]:
        """The driver process and the socket that passes connections to it, forked if need be."""
        if self.driver is None or self.driver[0].pid not in self.children.by_pid:
            if self.driver is not None:
                self.driver[1].close()
                self.driver = None
            ours, theirs = socket.socketpair()
            born = self.children.start(
                lambda: self.live_as_driver(theirs), [*self._open(), ours], outlives_peers=True
            )
            theirs.close()
            self.driver = born, ours
        return self.driver

    def _handle_signals(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end())

    def _end(self) -> None:
        self.ending = True

    def _open(self) -> list[socket.socket]:
        """The server's own sockets, which no child keeps."""
        waiting = [arrival.connection for arrival in self.arrivals.values()]
        passing = [] if self.driver is None else [self.driver[1]]
        return [self.listener, self.loop.alarm, self.loop.wakeup, *waiting, *passing]

    def _accept(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:  # no descriptor left: the connection waits for one
            log.exception("a connection can't be accepted")
            time.sleep(0.1)
            return
        arrival = Arrival(connection)
        self.arrivals[connection.fileno()] = arrival
        self.loop.watch(connection.fileno(), lambda: self._arrive(arrival))

    def _arrive(self, arrival: Arrival) -> None:
        try:
            if not arrival.receive():
                return
            greeting = arrival.greeting(self.token)
        except (EOFError, OSError, KeyfoldError):
            greeting = None
        self.loop.forget(arrival.connection.fileno())
        del self.arrivals[arrival.connection.fileno()]
        if greeting is None:
            arrival.connection.close()
        else:
            self._welcome(arrival.connection, *greeting)

    def _welcome(self, connection: socket.socket, role: str, memory: int | None) -> None:
        try:
            born = self._child_for(connection, role, memory)
        except OSError as e:
            log.exception("no process for a new connection")
            connection.sendall(frames.encode(frames.failure(e, "forking a worker")))
            connection.close()
        else:
            self.children.attach(born, connection)

    def _child_for(self, connection: socket.socket, role: str, memory: int | None) -> Child:
        if role == "driver":
            return self._pass_to_driver(connection)
        while self.loading is not None:  # workers share it
            self._load_on()
        return self.children.start(lambda: self.lives[role](connection, memory), self._open())

    def _pass_to_driver(self, connection: socket.socket) -> Child:
        born, passing = self._driver_process()
        try:
            socket.send_fds(passing, [b"+"], [connection.fileno()])
        except BrokenPipeError:  # it was killed, but is not reaped yet
            os.waitid(os.P_PID, born.pid, os.WEXITED | os.WNOWAIT)
            self.children.reap()
            born, passing = self._driver_process()
            socket.send_fds(passing, [b"+"], [connection.fileno()])
        return born

    def _read_stdin(self) -> None:
        if not os.read(STDIN, 4096):
            self._end()


def listening(directory: PrivateDirectory) -> socket.socket:
    """The socket the JVM connects to."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(directory.socket))
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return listener
