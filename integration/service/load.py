"""Clients that ask the service as fast as it answers, and what they found.

A row is stale by the time that has passed, when it was asked for, since the next version of it was
committed.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from integration import TOP
from integration.service import writers

MANY, PART_OF_MANY = 20, 0.1  # keys of a POST, and how many requests are one
PART_OF_HOT = 0.3  # how many requests are about rows that change with each commit


@dataclass(frozen=True)
class Asked:
    """One request, when it began and ended, and the versions that it got by key."""

    start: float
    stop: float
    versions: dict[int, int]


@dataclass(frozen=True)
class Report:
    """The figures of one run."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float
    errors: int
    commits: int
    stale_rows: int
    most_stale_ms: float


@dataclass
class Run:
    """One run of the load: what was asked, and what was committed when."""

    asked: list[Asked] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    commits: list[dict[str, Any]] = field(default_factory=list)

    def report(self) -> Report:
        """The figures."""
        times = np.array([(one.stop - one.start) * 1000 for one in self.asked])
        stale = [late for one in self.asked for late in self._stale(one)]
        return Report(
            requests=len(self.asked),
            seconds=max(one.stop for one in self.asked) - min(one.start for one in self.asked),
            p50_ms=float(np.percentile(times, 50)),
            p99_ms=float(np.percentile(times, 99)),
            errors=len(self.errors),
            commits=len(self.commits),
            stale_rows=len(stale),
            most_stale_ms=max(stale, default=0.0),
        )

    def _stale(self, one: Asked) -> Iterator[float]:
        for key, version in one.versions.items():
            later = [c["at"] for c in self.commits if c["version"] > version and key in c["set"]]
            if later and min(later) < one.start:
                yield (one.start - min(later)) * 1000


@contextmanager
def _started(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A process of a module of ours, which ends with the block."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    line = [sys.executable, "-m", *command]
    process = subprocess.Popen(line, cwd=TOP, text=True, **pipes)  # type: ignore[call-overload]
    with process:
        try:
            yield process
        finally:
            process.kill()


def _ask(random: Random, connection: http.client.HTTPConnection, rows: int) -> dict[int, int]:
    among = writers.HOT if random.random() < PART_OF_HOT else rows
    if random.random() < PART_OF_MANY:
        keys = random.sample(range(among), MANY)
        kind = {"Content-Type": "application/json"}
        connection.request("POST", "/rows", json.dumps(keys), kind)
    else:
        keys = [random.randrange(among)]
        connection.request("GET", f"/rows/{keys[0]}")
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise ValueError(f"status {answer.status}: {text[:200]!r}")
    found = json.loads(text)
    versions = {row["k"]: row["version"] for row in ([found] if len(keys) == 1 else found)}
    if [*versions] != keys:
        raise ValueError(f"asked for {keys}, got {[*versions]}")
    return versions


def _client(run: Run, port: int, rows: int, seed: int, until: float) -> None:
    random, connection = Random(seed), http.client.HTTPConnection("127.0.0.1", port)
    while (start := time.monotonic()) < until:
        try:
            versions = _ask(random, connection, rows)
        except (OSError, ValueError, http.client.HTTPException) as error:
            run.errors.append(str(error))
            connection.close()
            continue
        run.asked.append(Asked(start, time.monotonic(), versions))
    connection.close()


def loaded(
    folder: Path,
    rows: int,
    seconds: float,
    *,
    refresh_ms: float,
    clients: int,
    by: str = "python",
    pause: float = 0.1,
) -> Run:
    """Serve a new table below `folder`, upsert, and ask for so many seconds."""
    warehouse = folder / "warehouse"
    writers.made(warehouse, rows)
    service = ("integration.service.app", str(warehouse), writers.TABLE)
    writer = ("integration.service.writers", by, str(folder), str(rows), str(pause))
    run = Run()
    with (
        _started(*service, "--refresh-ms", str(refresh_ms)) as serving,
        _started(*writer) as writing,
    ):
        assert serving.stdout is not None
        port = int(serving.stdout.readline())
        _client(run, port, rows, -1, time.monotonic() + min(seconds / 2, 10))  # it warms up
        _commit(run, writing)
        run.asked.clear()
        until = time.monotonic() + seconds
        committing = threading.Thread(target=_commits, args=(run, writing, until))
        committing.start()
        with ThreadPoolExecutor(clients) as pool:
            for seed in range(clients):
                pool.submit(_client, run, port, rows, seed, until)
        committing.join()
    return run


def _commits(run: Run, writing: subprocess.Popen[str], until: float) -> None:
    while time.monotonic() < until:
        _commit(run, writing)


def _commit(run: Run, writing: subprocess.Popen[str]) -> None:
    assert writing.stdin is not None
    assert writing.stdout is not None
    writing.stdin.write("\n")
    writing.stdin.flush()
    found = json.loads(writing.stdout.readline())
    run.commits.append(found | {"set": frozenset(found.pop("keys"))})
