"""A job of hours that takes seconds: its clock is moved between its commits.

It is a process of its own, in which Debian's libfaketime answers whoever asks for the time, the
clients of stores too. No wait in it may reach its end: the clock of the system is not moved.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from keyfold.kernels import jit
from tests.concurrency import jobs
from tests.concurrency.jobs import Write, rows_of, table_of

ROOT = Path(__file__).parents[2]
FILE = "FAKETIME_TIMESTAMP_FILE"
COMMITS, APART = 4, 40 * 60  # seconds
LOGINS = ("AWS_", "AZURE_", "GOOGLE_", "GCE_")


def library() -> str:
    """The path of what moves clocks."""
    found = sorted(map(str, Path("/usr/lib").glob("*/faketime/libfaketime.so.1")))
    assert found, "libfaketime is missing: .ci/packages installs Debian's package of that name"
    return found[0]


def move(clock: Path, seconds: int) -> None:
    """So far from the system's clock, for all who have that file."""
    new = clock.with_name(f"{clock.name}.new")
    new.write_text(f"+{seconds}\n")
    new.replace(clock)


def now(clock: Path) -> float:
    """The time of a moved clock."""
    return time.time() + int(clock.read_text())


def run(options: Mapping[str, str], clock: Path, environment: Mapping[str, str]) -> None:
    """Run the job to its end, with a new clock and no login of this process' environment."""
    move(clock, 0)
    own = {name: value for name, value in os.environ.items() if not name.startswith(LOGINS)}
    faked = {"LD_PRELOAD": library(), FILE: str(clock), "FAKETIME_NO_CACHE": "1"}
    if jit.CACHE_DIRECTORY is not None:
        faked[jit.CACHE_VARIABLE] = str(jit.CACHE_DIRECTORY.parent)
    done = subprocess.run(
        [sys.executable, "-m", "tests.stores.moved_clock"],
        input=json.dumps(dict(options)),
        cwd=ROOT,
        env={**own, "HOME": str(clock.parent), **faked, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def main() -> None:
    """The job: commits some time apart, then a look at all of them."""
    options, clock = json.load(sys.stdin), Path(os.environ[FILE])
    jobs.made(options)
    for number in range(COMMITS):
        before = time.time()
        move(clock, number * APART)
        assert not number or time.time() - before >= APART, "the clock was not moved"
        Write(options, [{"k": number, "v": number}]).run().commit()
    assert rows_of(table_of(options)) == {number: number for number in range(COMMITS)}


if __name__ == "__main__":
    main()
