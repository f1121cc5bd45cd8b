"""Paimon's Java library as one process: it reads, writes and compacts tables that we look at.

PaimonJava.scala and PaimonBench.scala beside this file are what it runs, compiled by the compiler
in pyspark's jars; the library comes through `gradle paimon`. None of keyfold's code runs in that
process. PaimonSource.scala is compiled with them and runs in a Spark of the bench's.
"""

from __future__ import annotations

import base64
import datetime as dt
import fcntl
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyspark

from integration import QUIET, TOP
from integration.conformance import compare
from integration.fetched import fetched, version
from tests.option_names import option_names

NAMES = ("PaimonJava", "PaimonBench", "PaimonPostponed", "PaimonSource")
SOURCES = [Path(__file__).with_name(f"{name}.scala") for name in NAMES]
BUILD = TOP / "build" / "paimon"
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
START = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SMALL = (*START[1:], "-Xmx700m")  # for tests: it starts fast and stays small
STATES = {"rbm32", "rbm64", "hll_sketch", "theta_sketch"}
EPOCH = dt.datetime(1970, 1, 1)
Rows = list[list[Any]]
Json = Mapping[str, Any]


class RefusedByPaimon(Exception):
    """Paimon's Java library raised; the text is its chain of causes."""


@dataclass(frozen=True)
class Answer:
    """All rows of a table in no order, its columns, and the level of each file that was read."""

    names: list[str]
    rows: Rows
    levels: list[int]


class Paimon:
    """The running process. A request that Paimon refuses raises RefusedByPaimon."""

    def __init__(self, requests: IO[str], answers: IO[str], pid: int) -> None:
        self._requests = requests
        self._answers = answers
        self.pid = pid

    def read(self, table: Path, **options: str) -> Answer:
        """The rows as Paimon gives them to batch jobs; `__` in an option is a dot, `_` is `-`."""
        found = self.ask("read", table, options)
        return Answer(found["names"], found["rows"], found["levels"])

    def read_equal(self, table: Path, column: str, cell: Any) -> Rows:
        """The rows that a reader gets which asks for one value of a column, and maybe others."""
        equal = {"column": column, "row": row("+I", cell)}
        found: Rows = self.ask("read", table, {}, equal=equal)["rows"]
        return found

    def changes(self, table: Path) -> Rows:
        """What a stream reads from the first snapshot on; rows begin with snapshot and kind."""
        found: Rows = self.ask("changes", table, {})["rows"]
        return found

    def write(
        self,
        table: Path,
        rows: Iterable[Sequence[Any]],
        *,
        overwrite: bool = False,
        **options: str,
    ) -> None:
        """One commit of Paimon's batch writer; a row is its kind and the cells that `row` makes."""
        given = [list(row) for row in rows]
        options = {"write_only": "true"} | options
        self.ask("write", table, options, rows=given, overwrite=overwrite)

    def compact(self, table: Path, *, full: bool = True, **options: str) -> None:
        """A compaction of every bucket by Paimon; what it picks itself where it is not full."""
        # the plan for batch jobs hides level 0 of some tables; that for compactions hides nothing
        options = {"write_only": "false", "batch_scan_mode": "compact"} | options
        self.ask("compact", table, options, full=full)

    def expire(self, table: Path, **options: str) -> list[str]:
        """The partitions that expire now by these options."""
        found: list[str] = self.ask("expire", table, options)["partitions"]
        return found

    def history(self, table: Path, what: str, name: str, at: int | str = "") -> None:
        """A tag of a snapshot, a branch of a tag, a rollback to a tag, or a fast forward."""
        self.ask("history", table, {}, what=what, name=name, at=at)

    def statistics(self, table: Path) -> Json:
        """The statistics of the newest snapshot, as they are stored, once they are understood."""
        found: Json = self.ask("statistics", table, {})["statistics"]
        return found

    def create(self, table: Path, schema: Json) -> None:
        """A new table; the schema as Paimon's REST catalog sends it."""
        self.ask("create", table, {}, schema=schema)

    def alter(self, table: Path, changes: Sequence[Json]) -> None:
        """Schema changes, as Paimon's REST catalog sends them."""
        self.ask("alter", table, {}, changes=changes)

    def ask(self, do: str, table: Path, options: Mapping[str, str], **more: Any) -> Any:
        """One request of PaimonJava.scala or PaimonBench.scala; its answer."""
        named = option_names(options)
        request = {"do": do, "table": str(table), "options": named, **more}
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        answer = json.loads(self._answers.readline() or '{"error": "the process has ended"}')
        if "error" in answer:
            raise RefusedByPaimon(answer["error"])
        return answer


@contextmanager
def start(flags: Sequence[str] = SMALL) -> Iterator[Paimon]:
    """The process, ended with the block; `flags` are those of its JVM."""
    path = f"{compiled()}:{library()}:{SPARK_JARS}/*"
    command = ["java", *flags, f"-Dlog4j2.configurationFile=file:{QUIET}", "-cp", path]
    with tempfile.TemporaryDirectory(prefix="paimon-java-") as scratch:
        command += ["keyfold.integration.PaimonJava", scratch]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            yield Paimon(process.stdin, process.stdout, process.pid)
            process.stdin.close()


def java_version() -> int:
    """The first number of the version of the Java that the process runs in."""
    told = subprocess.run(["java", "-XshowSettings:properties", "-version"], capture_output=True)
    return int(re.search(rb"java\.specification\.version = (\d+)", told.stderr)[1])


def library() -> Path:
    """Paimon's jar, fetched where it is not there yet; gradle.properties names its version."""
    name = f"paimon-bundle-{version('paimon')}.jar"
    return fetched("paimon", name) / name


def compiled() -> Path:
    """The folder of our reader's classes, which a change of its source or of the library renews.
    One process compiles, others wait for it.
    """
    sources = b"".join(source.read_bytes() for source in SOURCES)
    libraries = library().name + pyspark.__version__
    digest = sha256(sources + libraries.encode()).hexdigest()[:16]
    classes = BUILD / f"classes-{digest}"
    with (BUILD / "compiled.lock").open("w") as lock, tempfile.TemporaryDirectory() as scratch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not classes.exists():
            command = [*START, "-Xss8m", "-cp", f"{SPARK_JARS}/*", "scala.tools.nsc.Main"]
            command += ["-cp", f"{library()}:{SPARK_JARS}/*", "-release:17", "-Xlint", "-Werror"]
            subprocess.run([*command, "-d", scratch, *map(str, SOURCES)], check=True)
            shutil.copytree(scratch, f"{classes}.new", dirs_exist_ok=True)
            Path(f"{classes}.new").rename(classes)
    return classes


def value(cell: Any, kind: pa.DataType) -> Any:
    """A cell of an answer as Arrow's `to_pylist` gives the same value; times without a zone."""
    if cell is None:
        return None
    if pa.types.is_list(kind):
        return [value(item, kind.value_type) for item in cell]
    if pa.types.is_map(kind):
        return [(value(k, kind.key_type), value(v, kind.item_type)) for k, v in cell]
    if pa.types.is_struct(kind):
        return {f.name: value(item, f.type) for f, item in zip(kind, cell, strict=True)}
    if pa.types.is_binary(kind):
        return base64.b64decode(cell, validate=True)
    if pa.types.is_date(kind):
        return (EPOCH + dt.timedelta(days=cell)).date()
    if pa.types.is_time(kind):
        return (EPOCH + dt.timedelta(milliseconds=cell)).time()
    if pa.types.is_timestamp(kind):
        return EPOCH + dt.timedelta(microseconds=cell)  # Arrow takes it for UTC
    if pa.types.is_decimal(kind):
        return Decimal(cell)
    return float(cell) if pa.types.is_floating(kind) else cell


def table(schema: pa.Schema, answer: Answer) -> pa.Table:
    """An answer as Spark would give it, whose schema is given."""
    assert answer.names == schema.names
    columns = [
        pa.array([value(cells[place], kind) for cells in answer.rows], kind)
        for place, kind in enumerate(schema.types)
    ]
    return pa.table(columns, names=schema.names)


def cells(table: pa.Table) -> list[list[Any]]:
    """Rows in the form that the conformance runner compares: text where == would not do."""
    return compare.cells(table, [False] * table.num_columns)


def row(kind: str, *cells: Any) -> list[Any]:
    """A row for `write` from Python's values; {"rbm64": numbers} is made by Paimon's class."""
    return [kind, *map(_cell, cells)]


def _cell(given: Any) -> Any:
    if isinstance(given, bytes):
        return base64.b64encode(given).decode()
    if isinstance(given, dt.datetime):
        return (given.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(given, dt.time):
        seconds = (given.hour * 60 + given.minute) * 60 + given.second
        return seconds * 1000 + given.microsecond // 1000
    if isinstance(given, dt.date):
        return (given - EPOCH.date()).days
    if isinstance(given, dict) and not given.keys() & STATES:
        return [_cell(item) for item in given.values()]
    if isinstance(given, list | tuple):
        return [_cell(item) for item in given]
    if isinstance(given, float | np.floating):
        return "NaN" if given != given else str(given).replace("inf", "Infinity")
    return str(given) if isinstance(given, Decimal) else given
