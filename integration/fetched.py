"""What tests alone need of Maven Central, fetched by gradle once, where it is not there yet."""

from __future__ import annotations

import fcntl
import subprocess
import time
from pathlib import Path

from integration import TOP

WAITS = (5, 20, 60, 120)  # seconds before gradle is asked again: a server may be out of breath


def fetched(task: str, wanted: str) -> Path:
    """The folder of a task of build.gradle, in which there are files of that pattern. One process
    fetches at a time; a failed attempt is tried again.
    """
    folder = TOP / "build" / task
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "fetched.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for wait in (*WAITS, None):
            if any(folder.glob(wanted)):
                return folder
            done = subprocess.run(
                ["gradle", "--quiet", task], cwd=TOP, capture_output=True, text=True, check=False
            )
            if done.returncode and wait is not None:
                time.sleep(wait)
    assert any(folder.glob(wanted)), f"gradle {task} brought no {wanted}:\n{done.stderr}"
    return folder
