"""keyfold's reader without Spark: two processes, each with buckets of its own, of the directories
that Paimon's reader gets as well, split by bucket as Paimon splits them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from integration import TOP
from integration.bench import keyfold
from integration.bench.cases import Settings
from integration.bench.data import Shape
from integration.bench.measure import Peaks, Result, times
from keyfold.bridge import memory
from keyfold.bridge.start import SINGLE_THREADED
from keyfold.read import scan_plan
from keyfold.read.request import ReadRequest
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.table import Table

SYSTEM = "reader"
TASKS = 2
WHOLE_BUCKETS = {"source.split.target-size": "64 gb"}


class Reader:
    """One process of reading.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.pid = process, process.pid
        self._requests, self._answers = process.stdin, process.stdout

    def wait(self) -> None:
        """Until it is warm."""
        assert self._answers.readline() == "ready\n", "no reader started: see above"

    def ask(self, request: Mapping[str, Any]) -> None:
        """Begin."""
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()

    def answer(self) -> list[float]:
        """Wait for the end."""
        found = json.loads(self._answers.readline() or '{"error": "the process has ended"}')
        if "error" in found:
            raise RuntimeError(found["error"])
        numbers: list[float] = found["numbers"]
        return numbers


@dataclass(frozen=True)
class Session:
    """The running processes."""

    readers: tuple[Reader, ...]
    settings: Settings
    system: str = SYSTEM

    def ask(self, do: str, table: str, shape: Shape) -> list[float]:
        """Plan, have all splits read, add up."""
        options = {"warehouse": str(self.settings.folder / "warehouse")}
        opened = open_catalog(SYSTEM, options).load_table(["bench"], table)
        return asked(self.readers, do, opened, list(shape.columns))


def asked(readers: Sequence[Reader], do: str, table: Table, columns: list[str]) -> list[float]:
    """Plan, have all splits read, add up."""
    scan, tasks, _ = scan_plan.plan_read(table, ReadRequest(columns, options=WHOLE_BUCKETS))
    splits = [split.to_json() for task in tasks for split in task]
    for number, reader in enumerate(readers):
        share = splits[number :: len(readers)]
        reader.ask({"do": do, "scan": scan.to_json(), "splits": share})
    found = [numbers for numbers in [reader.answer() for reader in readers] if numbers]
    return [sum(of) for of in zip(*found, strict=True)]


def started() -> Reader:
    """One process."""
    return Reader(
        subprocess.Popen(
            [sys.executable, "-m", "integration.bench.reading"],
            cwd=TOP,
            env={**os.environ, **SINGLE_THREADED, **memory.ALLOCATOR},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
    )


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """Both processes, ended with the block."""
    with ExitStack() as open_processes:
        readers = [started() for _ in range(TASKS)]
        for reader in readers:
            open_processes.enter_context(reader.process)
            reader.wait()
        yield Session(tuple(readers), settings)


def merges(session: Session) -> Iterator[Result]:
    """The tables that keyfold's session left."""
    settings = session.settings
    for shape, engine in settings.merged:
        table = keyfold.merged_table(shape, engine)

        def scan(turn: int, table: str = table, shape: Shape = shape) -> object:
            return session.ask("scan", table, shape)

        with ExitStack() as watched:
            peaks = [watched.enter_context(Peaks(reader.pid)) for reader in session.readers]
            found = times(scan, settings.pace, files=[keyfold.folder(settings, table)])
        largest = {"main": max(peak.memory["main"] for peak in peaks)}
        answer = session.ask("answer", table, shape)
        yield Result(f"merge/{engine}/{shape.name}", SYSTEM, found, shape.total, answer, largest)


CASES = (merges,)
