"""Plans and commits by the files that a table holds: python -m integration.bench.many_files

Tables are made of manifests whose data files need not exist, as nothing here opens one. Each size
is measured in a process of its own, whose first plan reads every manifest from the disk.
Plans through Spark have sessions of their own. --smoke takes tiny tables and no Spark, --files
others than 10,000, 100,000 and 1,000,000.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import keyfold
from integration import TOP
from integration.bench import many_files_by_spark, page
from integration.bench.cells import short, table
from keyfold.bridge import frames
from keyfold.compact import jobs
from keyfold.lookup.lookup_plan import plan_lookup
from keyfold.questions.scan import plan_scan
from keyfold.read.request import ReadRequest
from keyfold.read.scan_plan import plan_read
from keyfold.storage.commits import commit
from keyfold.storage.commits.attempts import CommitInfo, Entries, attempt
from keyfold.storage.metadata.entries import Record, added
from keyfold.storage.metadata.snapshots import Lock
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from keyfold.write.jobs import plan_job
from tests.storage import tables

SIZES, SMALL = (10_000, 100_000, 1_000_000), (200,)
BUCKETS = 100
ROW = dict.fromkeys(("p", "k", "a", "b", "c", "d", "e"), -1)
PARTS = ("measure", *many_files_by_spark.HOW)
COLUMNS = ("a", "b", "c", "d", "e")
STEPS = {
    "first": "plan of one partition, the first of a process",
    "next": "the same again",
    "insert": "an `INSERT` of one file: planned and committed",
    "after": "plan of one partition after it",
    "second insert": "another `INSERT`",
    "raced": "a commit that loses a race and tries again",
    "compaction": "plan of the compaction that follows it",
    "lookup": "plan of `get`, of keys in one partition",
    "get": "`get` of a key, in a partition of one row, the first",
    "got": "`get` again, one of a hundred",
    "expired": "expiry of a snapshot",
    "everything": "plan of everything",
    "sent": "the same with its tasks as Spark is sent them",
}
BY_SPARK = "plan of everything through Spark, by {}: first, later, two at once; clock / processor"
MEMORY = {
    "driver": "driver's process",
    "two at once": "same, once two had planned at once",
    "server": "fork server",
}
MEGABYTES = "memory of the {}, by {}, MB: most, then held"
BESIDE = "plan of one partition while a thread plans everything: median, longest"
ABOUT = """\
`python -m integration.bench.many_files` wrote this section. Tables have partitions of 100 buckets
with one file each, of statistics over seven columns; they are made of manifests alone, whose data
files do not exist. Each size has a process of its own. Seconds of processor, but for plans beside
another: those are of the clock. Plans through Spark are in two sessions more; their processor is
that of the JVM and of all its Python. One run."""


def new_table(key: str = "p,k", **options: str) -> NewTable:
    """A table in partitions, each of BUCKETS buckets."""
    columns = [tables.column(name) for name in ("p", "k", *COLUMNS)]
    return tables.new_table(*columns, key=key, by="p", bucket=str(BUCKETS), **options)


def fill(found: Table, files: int) -> None:
    """Commit so many files, in partitions of BUCKETS files, clustered as they came."""
    one = tables.message(found, partition=(0,), total=BUCKETS)
    (template,) = added(found.shapes, [one])
    records = list(_records(found, template, files))
    with found.held() as location:
        by = CommitInfo(str(uuid.uuid4()), commit.APPEND)
        assert attempt(found, by, None, Entries(records), location) == 1


def _records(found: Table, template: Record, files: int) -> Iterator[Record]:
    draw = random.Random(7)
    for number in range(files):
        record: dict[str, Any] = copy.copy(dict(template))
        low = draw.getrandbits(40)
        keys = found.shapes.key.encode((low,)), found.shapes.key.encode((low + 1000,))
        record["_PARTITION"] = found.shapes.partition.encode((number // BUCKETS,))
        record["_BUCKET"] = number % BUCKETS
        sequence = 1000 + number
        record["_FILE"] = template["_FILE"] | {
            "_FILE_NAME": f"data-{uuid.UUID(int=draw.getrandbits(128))}-0.parquet",
            "_FILE_SIZE": draw.randrange(1 << 26),
            "_MIN_KEY": keys[0],
            "_MAX_KEY": keys[1],
            "_MIN_SEQUENCE_NUMBER": sequence,
            "_MAX_SEQUENCE_NUMBER": sequence,
        }
        yield record


def measured(folder: Path, files: int) -> dict[str, Any]:
    """The seconds of processor of each step in this process; MB at the end."""
    partition = files // BUCKETS // 2
    took: dict[str, float] = {}

    def step(name: str, do: Callable[[], Any]) -> Any:
        began = time.process_time()
        answer = do()
        took[name] = time.process_time() - began
        return answer

    def load() -> Table:
        return tables.catalog(folder).load_table(["default"], "t")

    def planned(*filters: Predicate) -> int:
        _, _, report = plan_read(load(), ReadRequest(("k", "a"), filters))
        return report.files_read

    def sent() -> int:
        question = {"table": load().handle, "catalog": {"options": {}}}
        asked = {"columns": ["k", "a"], "filters": [], "options": {}}
        return sum(len(body) for _, body in frames.pieces({"ok": plan_scan(question | asked)}))

    def inserted(bucket: int = 0, lock: Lock = nullcontext) -> None:
        found = replace(load(), lock=lock)
        found.check_format()
        spec = plan_job(found, [column.name for column in found.layout.columns])
        where = {"partition": (partition,), "bucket": bucket, "total": BUCKETS}
        message = tables.message(found, **where, sequence=spec.sequence)
        assert commit.append(found, replace(spec, snapshot=found.snapshot_id), [message])

    value = {"literal": partition, "type": "long"}
    one = Predicate.from_json({"op": "=", "args": [{"column": ["p"]}, value]})
    load()
    assert step("first", lambda: planned(one)) == BUCKETS
    assert step("next", lambda: planned(one)) == BUCKETS
    step("insert", inserted)
    assert step("after", lambda: planned(one)) == BUCKETS + 1
    step("second insert", inserted)
    took["raced"] = _raced(inserted)
    touched = frozenset([((partition,), 0)])
    step("compaction", lambda: jobs.plan_job(load(), "auto", touched=touched))
    step("lookup", lambda: plan_lookup(load(), ["k", "a"], partitions=[(partition,)]))
    own = keyfold.connect(str(folder)).table("default.t")
    own.upsert([ROW])
    key = {name: ROW[name] for name in ("p", "k")}
    assert step("get", lambda: own.get(key)) == ROW
    step("got", lambda: [own.get(key) for _ in range(100)])
    took["got"] /= 100
    kept = len(own.snapshots())
    assert step("expired", lambda: own.expire(retain_max=kept - 1, retain_min=1)) == 1
    before = _megabytes()
    assert step("everything", planned) == files + 5
    assert step("sent", sent) > files
    found = {"files": files, "took": took, "before": before, "after": _megabytes()}
    return found | {"beside": _beside(planned, lambda: planned(one))}


def _raced(inserted: Callable[[int, Lock], None]) -> float:
    """The seconds of processor of a commit that another one comes before, as it publishes."""
    others: list[float] = []

    @contextmanager
    def overtaken() -> Iterator[None]:
        if not others:
            began = time.process_time()
            inserted(1, nullcontext)
            others.append(time.process_time() - began)
        yield

    began = time.process_time()
    inserted(2, overtaken)
    return time.process_time() - began - others[0]


def _beside(large: Callable[[], Any], small: Callable[[], Any]) -> tuple[float, float]:
    """The seconds of a small plan while another thread makes a large one: median and most."""
    took: list[float] = []
    thread = threading.Thread(target=large)
    thread.start()
    while thread.is_alive() or not took:
        began = time.perf_counter()
        small()
        took.append(time.perf_counter() - began)
    thread.join()
    return statistics.median(took), max(took)


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def through_spark(results: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """The lines of plans through Spark, if they were measured."""
    for how, words in many_files_by_spark.HOW.items():
        found = [each.get(how) for each in results]
        if any(found):
            yield [BY_SPARK.format(words), *(map(_times, found))]
            for process, what in MEMORY.items():
                yield [MEGABYTES.format(what, words), *(_pair(one, process) for one in found)]


def _times(found: dict[str, Any] | None) -> str:
    every = (found or {}).get("times", {}).values()
    return ", ".join(" / ".join(map(short, of)) for of in every) or "-"


def _pair(found: dict[str, Any] | None, process: str) -> str:
    return ", ".join(f"{size:.0f}" for size in found["megabytes"][process]) if found else "-"


def section(results: Sequence[dict[str, Any]], is_whole: bool) -> str:
    """The section of the page."""
    heads = ["", *(f"{found['files']:,} files" for found in results)]
    rows = [
        [what, *(short(found["took"][name]) for found in results)] for name, what in STEPS.items()
    ]
    rows.append([BESIDE, *(", ".join(map(short, found["beside"])) for found in results)])
    for when, what in (("before", "before that"), ("after", "at the end")):
        rows.append(
            [f"most memory {what}, without Spark, MB", *(f"{found[when]:.0f}" for found in results)]
        )
    rows += through_spark(results)
    of = "" if is_whole else " at other sizes"
    return f"{page.FILES}plans and commits{of}\n\n{ABOUT}\n\n{table(heads, rows)}"


def _in_process(folder: Path, files: int, parts: Sequence[str]) -> dict[str, Any]:
    """The figures of one size: made in one process, each part measured in one of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(TOP / "python"), str(TOP)))}
    command = [sys.executable, "-m", "integration.bench.many_files", "--folder", str(folder)]
    found: dict[str, Any] = {}
    for part in ("make", *parts):
        done = subprocess.run(
            [*command, "--part", part, "--files", str(files)],
            cwd=TOP,
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        found |= json.loads(done.stdout.splitlines()[-1]) if part != "make" else {}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", help="sizes of tables")
    parser.add_argument("--smoke", action="store_true", help="a tiny table")
    parser.add_argument(
        "--docs", type=Path, help="the folder of the page to write; else it is shown"
    )
    parser.add_argument("--part", choices=("make", *PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = asked.files or (SMALL if asked.smoke else SIZES)
    if asked.part == "make":
        fill(tables.table(asked.folder, new_table()), sizes[0])
    elif asked.part == "measure":
        print(json.dumps(measured(asked.folder, sizes[0])))
    elif asked.part:
        found = many_files_by_spark.measured(asked.folder, sizes[0], asked.part)
        print(json.dumps({asked.part: found}))
    else:
        parts = PARTS[:1] if asked.smoke else PARTS
        results = []
        for files in sizes:
            with tempfile.TemporaryDirectory() as folder:
                results.append(_in_process(Path(folder), files, parts))
        text = section(results, tuple(sizes) == SIZES)
        print(text) if asked.docs is None else page.put(asked.docs, text)


if __name__ == "__main__":
    main()
