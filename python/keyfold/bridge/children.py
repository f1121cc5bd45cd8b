"""The processes of a fork server: started, watched while their peer is there, reaped, ended. The
last line of a process' log says how it ended; the JVM shows it.

The server keeps a duplicate of each connection. So it notices a peer that hangs up even while the
worker computes, and the JVM sees the connection of a dead worker end only after its log says why.

A forked process dies with the server (PR_SET_PDEATHSIG), writes stdout and stderr to its own log
and has its own temporary directory. It ignores the terminal's Ctrl-C, which the JVM handles.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from keyfold.bridge import frames
from keyfold.bridge.directory import PrivateDirectory
from keyfold.bridge.loop import HANG_UP_ONLY, EventLoop
from keyfold.bridge.memory import OPTION

GRACE_SECONDS = 10.0
FAREWELL_SECONDS = 1.0
# Signals that end C++ at a cap it can't report (std::bad_alloc in a thread, a null pointer).
_OUT_OF_MEMORY = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS)
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Child:
    """A running process; if its only peer has left, it must end by `deadline` (monotonic)."""

    pid: int
    outlives_peers: bool
    connections: set[socket.socket] = field(default_factory=set)
    deadline: float | None = None


class Children:
    """Owns the processes and the duplicates of their connections."""

    def __init__(self, directory: PrivateDirectory, loop: EventLoop) -> None:
        self.directory = directory
        self.loop = loop
        self.by_pid: dict[int, Child] = {}

    def start(
        self, live: Callable[[], None], inherited: Iterable[Closable], outlives_peers: bool = False
    ) -> Child:
        """Fork a process that calls `live`."""
        siblings = [c for born in self.by_pid.values() for c in born.connections]
        pid = fork(self.directory, [*inherited, *siblings], live)
        born = self.by_pid[pid] = Child(pid, outlives_peers)
        return born

    def attach(self, born: Child, connection: socket.socket) -> None:
        """Keep `connection`, which the child serves, until its peer hangs up or the child ends."""
        born.connections.add(connection)
        self.loop.watch(connection.fileno(), lambda: self._hung_up(born, connection), HANG_UP_ONLY)

    def _hung_up(self, born: Child, connection: socket.socket) -> None:
        self._detach(born, connection)
        if not born.outlives_peers:
            born.deadline = time.monotonic() + GRACE_SECONDS

    def _detach(self, born: Child, connection: socket.socket) -> None:
        self.loop.forget(connection.fileno())
        born.connections.discard(connection)
        connection.close()

    def reap(self) -> None:
        """Collect every process that has ended."""
        while self.by_pid:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if (dead := self.by_pid.pop(pid, None)) is not None:
                self._bury(dead, status)

    def _bury(self, dead: Child, status: int) -> None:
        keep = status != 0 and (bool(dead.connections) or dead.outlives_peers)
        if keep:
            with self.directory.log(dead.pid).open("a") as log:
                capped = not dead.outlives_peers
                log.write(how_it_ended(dead.pid, status, is_capped=capped) + "\n")
        self.directory.forget(dead.pid, keep_log=keep)
        for connection in tuple(dead.connections):
            self._detach(dead, connection)

    def kill_overdue(self) -> float | None:
        """Kill processes past their deadline; the seconds to the next one, None without one."""
        now = time.monotonic()
        left = [(c.deadline - now, c.pid) for c in self.by_pid.values() if c.deadline is not None]
        for seconds, pid in left:
            if seconds <= 0:
                os.kill(pid, signal.SIGKILL)
        return max(min(left)[0], 0.1) if left else None

    def end(self) -> None:
        """Hang up on every process, give it a moment to delete its files, then kill the rest."""
        for born in self.by_pid.values():
            for connection in born.connections:
                hang_up(connection)
        patience = time.monotonic() + FAREWELL_SECONDS
        while self.by_pid and time.monotonic() < patience:
            self.reap()
            time.sleep(0.005)
        for pid in self.by_pid:
            os.kill(pid, signal.SIGKILL)
        while self.by_pid:
            self.reap()
            time.sleep(0.001)


def hang_up(connection: socket.socket) -> None:
    """Shut the connection down for every process that holds it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def how_it_ended(pid: int, status: int, *, is_capped: bool) -> str:
    """A wait status in words: "worker 12 ended: killed by signal 9 (SIGKILL)". If the process had a
    cap on its memory and that may be the cause, they also name the option to raise.
    """
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"worker {pid} ended: exit code {code}"
    said = f"worker {pid} ended: killed by signal {-code} ({signal_name(-code)})"
    if is_capped and -code in _OUT_OF_MEMORY:
        return f"{said}, as libraries do that get no more memory: if so, raise {OPTION}"
    return said


def signal_name(number: int) -> str:
    """SIGKILL for 9; the number itself if it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


class Closable(Protocol):
    """Anything that is open in the server and must not stay open in its children."""

    def close(self) -> object: ...


def fork(
    directory: PrivateDirectory, inherited: Iterable[Closable], live: Callable[[], None]
) -> int:
    """Fork a process that closes `inherited` and then calls `live`; returns its pid."""
    server = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(directory, server, inherited)
        _end(live)
    return pid


def _become(directory: PrivateDirectory, server: int, inherited: Iterable[Closable]) -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    for open_in_server in inherited:
        open_in_server.close()
    os.close(directory.lock)
    _own_files(directory)


def _own_files(directory: PrivateDirectory) -> None:
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
    log = os.open(directory.log(os.getpid()), flags, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    faulthandler.enable(2)
    scratch = directory.scratch(os.getpid())
    scratch.mkdir(0o700)
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)


def _end(live: Callable[[], None]) -> NoReturn:
    """Call `live`, then exit without running anything the server registered for its own exit."""
    code = 1
    try:
        live()
        code = 0
    except BaseException as e:
        print(frames.told(e), file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
