"""A PostgreSQL server of Debian's package, as processes of the tests: on a free port, with a
password, of a user that is not root.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port

USER, PASSWORD = "paimon", "a-password-that-nobody-may-read"
START_SECONDS = 60
DEBIAN = Path("/usr/lib/postgresql")


def program(name: str) -> str:
    """The path of a program of the server, which Debian keeps out of the PATH."""
    found = sorted(DEBIAN.glob(f"*/bin/{name}"))
    path = str(found[-1]) if found else shutil.which(name)
    assert path, f"{name} is missing: .ci/packages installs Debian's package postgresql"
    return path


@contextmanager
def running() -> Iterator[dict[str, str]]:
    """The settings `uri`, `jdbc.user` and `jdbc.password` of its database `names`."""
    owner = _owner()
    with tempfile.TemporaryDirectory(prefix="postgresql-") as name:
        folder = Path(name)
        password = folder / "password"
        password.write_text(PASSWORD)
        if owner is not None:
            for path in (folder, password):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        called = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid}
        made = [program("initdb"), "-D", name + "/data", "-U", USER, "-A", "scram-sha-256"]
        made += ["--pwfile", str(password), "-N", "--no-locale", "-E", "UTF8"]
        subprocess.run(made, check=True, capture_output=True, cwd=name, **called)
        port = free_port()
        served = [program("postgres"), "-D", name + "/data", "-p", str(port), "-k", name]
        served += ["-h", "127.0.0.1", "-c", "fsync=off", "-c", "shared_buffers=16MB"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(served, stdout=log, stderr=log, cwd=name, **called)
        try:
            _wait(port, server, folder / "log")
            yield {
                "uri": f"jdbc:postgresql://127.0.0.1:{port}/postgres",
                "jdbc.user": USER,
                "jdbc.password": PASSWORD,
            }
        finally:
            server.send_signal(subprocess.signal.SIGINT)  # a fast end
            server.wait(30)


def _owner() -> pwd.struct_passwd | None:
    """Who runs the server if we are root, whom it refuses."""
    return pwd.getpwnam("nobody") if os.getuid() == 0 else None


def _wait(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        ready = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
        if subprocess.run(ready, check=False).returncode == 0:
            return
        time.sleep(0.05)
    raise AssertionError(f"PostgreSQL did not start: {log.read_text()}")
