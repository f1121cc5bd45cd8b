"""How the JVM and a new fork server meet: one line of JSON each way, over stdin and stdout.

The JVM says its protocol, version, token and private directory; the server answers `ready`, or an
error where jar and package don't fit together. After that line stdout means nothing any more.
"""

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from keyfold.errors import EnvironmentMismatchError
from keyfold.wire.version import PROTOCOL, package_version


@dataclass(frozen=True)
class Hello:
    """What the JVM says first; `files` is where Spark puts the files it ships."""

    protocol: int
    version: str
    token: str
    directory: Path
    files: Path | None = None


def receive(line: str) -> Hello:
    """Parse the JVM's line; EnvironmentMismatchError if it is not one."""
    try:
        said: Mapping[str, Any] = json.loads(line)
        directory, files = Path(said["directory"]), said.get("files")
        shipped = None if files is None else Path(files)
        return Hello(said["protocol"], said["version"], said["token"], directory, shipped)
    except (ValueError, KeyError, TypeError) as e:
        raise EnvironmentMismatchError(
            "python -m keyfold.bridge is started by keyfold's jar, which writes one line of JSON "
            f"to its stdin; found {line[:80]!r} ({type(e).__name__}: {e})"
        ) from e


def check(hello: Hello) -> None:
    """Refuse a jar of another version than this package."""
    ours = package_version()
    if hello.version == ours and hello.protocol == PROTOCOL:
        return
    raise EnvironmentMismatchError(
        f"the jar is keyfold {hello.version} (protocol {hello.protocol}), the Python package that "
        f"{sys.executable} has installed is keyfold {ours} (protocol {PROTOCOL}); use the jar in "
        f"that package ({sys.executable} -m keyfold jar-path), or install the jar's version there "
        f"({sys.executable} -m pip install keyfold=={hello.version}), or name another Python with "
        "spark.keyfold.python and spark.keyfold.driver.python"
    )


def ready() -> dict[str, Any]:
    """The answer of a server that listens and is warm."""
    return {
        "ready": True,
        "protocol": PROTOCOL,
        "version": package_version(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "pid": os.getpid(),
    }


def say(line: Mapping[str, Any], out: TextIO) -> None:
    """Write the one line the JVM reads."""
    out.write(json.dumps(line) + "\n")
    out.flush()
