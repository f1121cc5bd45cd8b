"""The servers of these tests end with them, and hold nothing open that somebody waits for."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.stores import azurite

STARTS = """
import sys, time
from tests.stores import azurite, server
if sys.argv[1] == "azurite":
    azurite._node = lambda: sys.argv[2]
    started = azurite.running()
else:
    started = server.started()
with started:
    print("started", flush=True)
    if sys.argv[3] == "killed":
        time.sleep(600)
"""


@pytest.mark.parametrize("end", ["ended", "killed"])
@pytest.mark.parametrize("kind", ["azurite", "moto"])
def test_nobody_waits_for_a_server(kind: str, end: str, tmp_path: Path) -> None:
    """Node is a script that starts the real one, as in packages of Python's."""
    script = tmp_path / "node"
    started = tmp_path / "pid"
    real = shlex.quote(azurite._node())
    script.write_text(f'#!/bin/sh\n{real} "$@" &\necho $! > {started}\nwait\n')
    script.chmod(0o755)
    command = [sys.executable, "-c", STARTS, kind, str(script), end]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=azurite.ROOT, **pipes) as tests:
        assert tests.stdout is not None
        try:
            assert tests.stdout.readline() == b"started\n"
            if end == "killed":
                tests.kill()
            assert tests.communicate(timeout=60)[0] == b""
            if kind == "azurite" and end == "ended":
                assert has_ended(int(started.read_text()))
        finally:
            if started.exists() and not has_ended(pid := int(started.read_text()), 0):
                os.kill(pid, signal.SIGKILL)


def has_ended(pid: int, seconds: float = 10) -> bool:
    """A process that nobody has waited for has ended too."""
    until = time.monotonic() + seconds
    command = Path(f"/proc/{pid}/cmdline")
    while command.exists() and command.read_bytes():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
