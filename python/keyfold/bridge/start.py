"""From the JVM's first line to a server: check versions, import what workers need, say ready.

Kernels are loaded after that, before the first worker. So the driver's process, which calls few of
them, looks tables up and plans meanwhile.

No thread may exist before a fork: environment variables keep libraries from starting one.
The driver's process is forked from the server too, and imports the modules only it needs.
"""

import gc
import importlib
import logging
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from keyfold.bridge import frames, handshake, memory
from keyfold.bridge.directory import PrivateDirectory, claim, create
from keyfold.bridge.handshake import Hello
from keyfold.bridge.server import ForkServer
from keyfold.errors import EnvironmentMismatchError
from keyfold.resources import budget

SINGLE_THREADED = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


def main() -> int:
    """Run a fork server on this process' stdin and stdout; returns its exit code."""
    logging.basicConfig(level=logging.WARNING)
    os.environ.update(SINGLE_THREADED | memory.ALLOCATOR)
    memory.tune_allocator(budget.DEFAULT)
    out = own_stdout()
    try:
        hello = handshake.receive(sys.stdin.readline())
        handshake.check(hello)
        directory = claim(create(hello.temporary))
    except Exception as e:
        handshake.say(frames.failure(e, "starting the fork server"), out)
        return 1
    return serve(hello, directory, out)


def own_stdout() -> TextIO:
    """Stdout for the one line the JVM reads; all other output goes to stderr."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def serve(hello: Hello, directory: PrivateDirectory, out: TextIO) -> int:
    """Warm up, say ready, run until the JVM is gone; nothing is left behind."""
    server = ForkServer(directory, hello.token, LIVES, live_as_driver, loading())
    try:
        try:
            warm()
            importlib.import_module("keyfold.user_functions.sources").shipped_to(hello.files)
        except Exception as e:
            handshake.say(frames.failure(e, "warming up the fork server"), out)
            return 1
        directory.take_errors()
        handshake.say(handshake.ready(directory.path), out)
        out.close()
        server.run()
    finally:
        server.close()
    return 0


def warm() -> None:
    """Import workers' modules, and see to it that no worker has to compile."""
    try:
        importlib.import_module("keyfold.questions.executor")
        jit = importlib.import_module("keyfold.kernels.jit")
        if not jit.fill_cache():
            jit.warm()
    except ImportError as e:
        raise EnvironmentMismatchError(
            f"{sys.executable} cannot import what keyfold's workers need: {e}; install keyfold's "
            f"dependencies there ({sys.executable} -m pip install keyfold)"
        ) from e
    settle()


def loading() -> Iterator[None]:
    """Load all kernels, one at each step."""
    yield from importlib.import_module("keyfold.kernels.jit").loading()
    settle()


def settle() -> None:
    """The garbage collector never visits what is loaded: forks share it as long as it is as is."""
    gc.collect()
    gc.freeze()


def live_as_worker(connection: socket.socket, allowed: int | None) -> None:
    """The life of a worker of an executor."""
    importlib.import_module("keyfold.questions.executor").live(connection, allowed, own_log())


def live_as_client(connection: socket.socket, _allowed: int | None) -> None:
    """The life of the process of a program's writer or look-ups."""
    importlib.import_module("keyfold.client.process").live(connection, own_log())


LIVES = {"worker": live_as_worker, "client": live_as_client}


def live_as_driver(passing: socket.socket) -> None:
    """The life of the driver's process."""
    importlib.import_module("keyfold.questions.driver").live(passing, own_log())


def own_log() -> str:
    """The file this forked process' stderr goes to."""
    return str(Path("/proc/self/fd/2").readlink())
