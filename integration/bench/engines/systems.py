"""LakeSoul and ClickHouse in processes of the Python in build/engines (`program.py`).

LakeSoul's reader gets the files of keyfold's table. ClickHouse has the same rows in a table of its
own, one part a run. From Python LakeSoul keeps the last record of a key, so that it can do
`deduplicate` alone: its reader takes no merge operators there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from integration import TOP
from integration.bench import answers, data, keyfold
from integration.bench.cases import ENGINES, Settings
from integration.bench.measure import Peaks, Result, times
from integration.bench.readers import WHOLE_BUCKETS, Reader
from keyfold.read import scan_plan
from keyfold.read.request import ReadRequest
from keyfold.storage.catalogs.warehouse import open_catalog

LEFT_OUT = """\
LakeSoul and ClickHouse were not measured: `make build/engines/.installed` makes their
environment."""
ABOUT = """\
LakeSoul 2.0's merge reader gets the very files of keyfold's table, two threads, and its batches are
touched with Arrow's `max`; from Python it keeps the last record of a key and takes no other merge
operator. ClickHouse (chdb 4.4) has the same rows in a format of its own, one part a run, and
answers `SELECT max` of every column `FINAL` with `max_threads = 2`: `ReplacingMergeTree`,
`CoalescingMergeTree`, or `AggregatingMergeTree` with `SimpleAggregateFunction`s."""
HOME = TOP / "build" / "engines"  # `make build/engines/.installed` makes it
MERGES = {
    "lakesoul": ("deduplicate",),
    "clickhouse": ("deduplicate", "partial-update", "aggregation"),
}


def is_installed() -> bool:
    """Whether their environment is whole."""
    return (HOME / ".installed").exists()


@dataclass(frozen=True)
class Session:
    """The process of one of them."""

    settings: Settings
    system: str
    reader: Reader

    def ask(self, **request: Any) -> list[float]:
        """The numbers of one request."""
        self.reader.ask({"system": self.system, **request})
        return self.reader.answer()


@contextmanager
def start(settings: Settings, system: str) -> Iterator[Session]:
    """Its process, ended with the block."""
    process = subprocess.Popen(
        [str(HOME / "bin" / "python"), "-m", "integration.bench.engines.program"],
        cwd=TOP,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with process:
        reader = Reader(process)
        reader.wait()
        yield Session(settings, system, reader)


def lakesoul(session: Session, engine: str) -> dict[str, dict[str, Any]]:
    """The files of each bucket, in the order of their runs."""
    settings, shape = session.settings, session.settings.main
    name = keyfold.merged_table(shape, engine)
    options = {"warehouse": str(settings.folder / "warehouse")}
    table = open_catalog(session.system, options).load_table(["bench"], name)
    _, tasks, _ = scan_plan.plan_read(
        table, ReadRequest(list(shape.columns), options=WHOLE_BUCKETS)
    )
    buckets = [
        [
            f"{split.path}/{file.name}"
            for section in split.sections
            for run in section
            for file in run
        ]
        for task in tasks
        for split in task
    ]
    request = {"buckets": buckets, "columns": shape.columns, "key": shape.keys[0]}
    return {do: {"do": do, **request} for do in answers.FOLDS}


def clickhouse(session: Session, engine: str) -> dict[str, dict[str, Any]]:
    """A table of the same rows; `max` of every column, and what answers are compared by."""
    settings, shape = session.settings, session.settings.main
    options = ENGINES[engine].items()
    functions = {key.split(".")[1]: name for key, name in options if key.startswith("fields.")}
    runs = [str(path) for path in data.runs(settings.input, shape)]
    folder = str(settings.folder / "clickhouse")
    made = {
        "engine": engine,
        "columns": shape.columns,
        "key": shape.keys[0],
        "functions": functions,
    }
    (parts,) = session.ask(do="make", folder=folder, runs=runs, **made)
    assert parts == shape.runs, parts
    asked = {
        "scan": ["count()", *(f"max({name})" for name in shape.columns)],
        "answer": answers.sql(shape, "CRC32({})"),
    }
    return {do: {"do": do, "folder": folder, "sql": sql} for do, sql in asked.items()}


REQUESTS = {"lakesoul": lakesoul, "clickhouse": clickhouse}
FOLDERS = {"lakesoul": "warehouse", "clickhouse": "clickhouse"}


def merges(session: Session) -> Iterator[Result]:
    """The main workload, of the engines that they have."""
    settings, shape, system = session.settings, session.settings.main, session.system
    for engine in MERGES[system]:
        asked = REQUESTS[system](session, engine)

        def scan(turn: int, asked: dict[str, Any] = asked) -> object:
            return session.ask(**asked["scan"])

        with Peaks(session.reader.pid) as peaks:
            found = times(scan, settings.pace, files=[settings.folder / FOLDERS[system]])
        answer = session.ask(**asked["answer"])
        case = f"merge/{engine}/{shape.name}"
        yield Result(case, system, found, shape.total, answer, {"main": peaks.memory["main"]})


SYSTEMS = {
    system: SimpleNamespace(start=partial(start, system=system), CASES=(merges,))
    for system in MERGES
}
