"""The first moments of a forked process: the settings it makes before it answers anything.

It dies with the server (PR_SET_PDEATHSIG), writes stdout and stderr to its own log and has its own
temporary directory. It ignores the terminal's Ctrl-C, which the JVM handles.
"""

import ctypes
import faulthandler
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import NoReturn, Protocol

from keyfold.bridge import frames
from keyfold.bridge.directory import PrivateDirectory

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Closable(Protocol):
    """Anything that is open in the server and must not stay open in its children."""

    def close(self) -> object: ...


def fork(
    directory: PrivateDirectory,
    inherited: Iterable[Closable],
    live: Callable[[], None],
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
