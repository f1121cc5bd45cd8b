"""The first query of a process: python -m integration.bench.fresh keyfold|plain TIMED FOLDER SOURCE

starts a session, asks one question, and prints when (monotonic seconds) it had the answer.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from integration import TOP, sessions
from integration.bench.cases import Settings
from integration.bench.measure import Result, Times

QUERY = "SELECT count(*), max(seq), max(d) FROM "


def measured(settings: Settings, system: str, source: str) -> Result:
    """A process after the other, its start included."""

    def once() -> float:
        start = time.perf_counter()
        command = [sys.executable, "-m", "integration.bench.fresh", system]
        done = subprocess.run(
            [*command, str(settings.timed), str(settings.folder), source],
            cwd=TOP,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return float(done.stdout.split()[-1]) - start

    turns = min(settings.repeat, 2) if settings.repeat > 1 else 0
    return Result("first", system, Times(once(), tuple(once() for _ in range(turns))))


def main(system: str, timed: str, folder: Path, source: str) -> None:
    """Ask, print, leave."""
    confs = sessions.TIMED if timed == "True" else {}
    if system == "keyfold":
        spark = sessions.start(folder, **confs)
    else:
        spark = sessions.builder(folder, **confs).getOrCreate()
    row = spark.sql(QUERY + source).first()
    assert row is not None
    assert row[0] > 0
    print(time.perf_counter(), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
