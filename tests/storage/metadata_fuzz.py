"""Metadata gone wrong: `python -m tests.storage.metadata_fuzz --inputs 100000`.

Real tables are copied, one file or a few of each are changed, and statements run on it in a process
with a memory cap: each must end within PATIENCE, by an answer or an error of ours, and change
nothing beside the table, where another one lies.
"""

import contextlib
import json
import mmap
import os
import random
import resource
import shutil
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from keyfold.errors import KeyfoldError
from keyfold.read import metadata
from tests.bridge import fuzz
from tests.bridge.fuzz import MOST_FINDINGS, Figures
from tests.concurrency import jobs
from tests.storage import damaged, snapshots, tables
from tests.storage.beside import outside
from tests.storage.crafted import Metadata, decoded, encoded
from tests.storage.metadata_mutations import mutate

PATIENCE = 10.0
MEMORY = 1 << 30  # beyond what a process has that has warmed up
KEEPING = {
    "snapshot__num_retained__min": "1",
    "snapshot__time_retained": "1 ms",
    "snapshot__expire__execution_mode": "sync",
}
PARTITIONED = (tables.column("p"), tables.column("k"), tables.column("v"))
TEMPLATES: Mapping[str, tables.NewTable] = {
    "deduplicate": tables.new_table(bucket="1", **KEEPING),
    "partial-update": tables.new_table(bucket="2", merge_engine="partial-update", **KEEPING),
    "aggregation": tables.new_table(
        bucket="1", merge_engine="aggregation", fields__v__aggregate_function="sum", **KEEPING
    ),
    "first-row": tables.new_table(bucket="1", merge_engine="first-row", **KEEPING),
    "partitioned": tables.new_table(*PARTITIONED, key="p,k", by="p", bucket="1", **KEEPING),
}


def row(name: str, k: int) -> dict[str, Any]:
    return {"p": k % 2, "k": k, "v": k} if name == "partitioned" else {"k": k, "v": k}


def make(warehouse: Path, name: str) -> None:
    """A table of one kind with all that metadata can say, and one beside it."""
    write_only = {"change": "set_property", "key": "write-only", "value": "true"}
    folder = str(warehouse)
    tables.table(warehouse, tables.new_table(**KEEPING))
    jobs.written(folder, [{"k": 1, "v": 1}])
    (warehouse / "default.db" / "t").rename(warehouse / "default.db" / "other")
    tables.table(warehouse, TEMPLATES[name])
    jobs.altered(folder, [write_only])
    for mode in ("append", "append", "overwrite", "append"):
        jobs.written(folder, [row(name, k) for k in range(5)], mode)
    found = jobs.table_of(folder)
    snapshots.branch(found, 3)
    snapshots.consume(found, 3)
    snapshot = Metadata(found)
    snapshot.index("index-a-0")
    snapshot.say(statistics="stat-a-0")
    snapshot.changelog()
    snapshot.tag(found)
    for place in ("index/index-a-0", "statistics/stat-a-0", "changelog/changelog-1"):
        path = snapshot.location / place
        path.parent.mkdir()
        path.write_bytes(snapshot.path.read_bytes())
    without_sizes(snapshot.location)
    (warehouse / "victim").write_text("precious")


def without_sizes(table: Path) -> None:
    """What changes one file need not change those that say its size."""
    for path in (table / "manifest").glob("manifest-list-*"):
        schema, records = decoded(path.read_bytes())
        path.write_bytes(encoded(schema, [record | {"_FILE_SIZE": 0} for record in records]))
    kinds = ("snapshot-*", "tag-*", "changelog-*")
    for path in (found for kind in kinds for found in table.rglob(kind)):
        stored = json.loads(path.read_text())
        said = {name: value for name, value in stored.items() if not name.endswith("ListSize")}
        path.write_text(json.dumps(said))


def read(folder: str, name: str) -> None:
    found = jobs.table_of(folder)
    found.check_readable()
    jobs.read_all(*jobs.splits_of(found))


def looked_inside(folder: str, name: str) -> None:
    found = jobs.table_of(folder)
    for kind in metadata.ALL.values():
        with contextlib.suppress(KeyfoldError):
            list(kind.batches(found, [column.name for column in kind.columns], "UTC"))


def dropped_partition(folder: str, name: str) -> None:
    if name == "partitioned":
        jobs.partition_dropped(folder, 1)


def deleted(folder: str, name: str) -> None:
    if name != "first-row":
        jobs.deleted(folder, 3, **({"p": 1} if name == "partitioned" else {}))


STATEMENTS: Mapping[str, Callable[[str, str], Any]] = {
    "read": read,
    "insert": lambda folder, name: jobs.written(folder, [row(name, 9)]),
    "overwrite": lambda folder, name: jobs.written(folder, [row(name, 9)], "overwrite"),
    "delete": deleted,
    "truncate": lambda folder, name: jobs.truncated(folder),
    "drop partition": dropped_partition,
    "compact": lambda folder, name: jobs.compacted(folder),
    "rescale": lambda folder, name: jobs.rescaled(folder, 3),
    "expire": lambda folder, name: jobs.expired(folder, 1),
    "orphans": lambda folder, name: jobs.orphans_removed(folder, time.time()),
    "metadata tables": looked_inside,
    "alter": lambda folder, name: jobs.altered(
        folder, [{"change": "set_property", "key": "snapshot.expire.limit", "value": "7"}]
    ),
    "drop": lambda folder, name: jobs.dropped(folder),
}


def outcomes(made: Mapping[str, Path], folder: Path, seed: int, place: int) -> Iterator[str]:
    """What became of some statements on one input; AssertionError for what should not happen."""
    draw = random.Random(f"{seed}/{place}")
    name = draw.choice(list(TEMPLATES))
    shutil.copytree(made[name], folder)
    table = folder / "default.db" / "t"
    done = mutate(draw, table)
    before = outside(str(folder))
    for statement in draw.sample(list(STATEMENTS), 3):
        damaged.forget()
        started, became = time.monotonic(), "answered"
        told = f"{statement} on {name} after {done}"
        try:
            STATEMENTS[statement](str(folder), name)
        except KeyfoldError as error:
            became = type(error).__name__
        except Exception as error:
            raise AssertionError(f"{told}: {error!r}") from error
        taken = time.monotonic() - started
        assert taken < PATIENCE, f"{told} took {taken:.1f} s"
        assert outside(str(folder)) == before, f"{told}: something beside the table has changed"
        yield f"{statement}: {became}"


def live(folder: Path, seed: int, places: range, at: mmap.mmap, report: int) -> None:
    """A process that runs the inputs of some places, and says at which it is."""
    figures = Figures()
    made = {name: folder / "made" / name for name in TEMPLATES}
    for name, warehouse in made.items():
        warehouse.mkdir(parents=True)
        make(warehouse, name)
        for number, statement in enumerate(STATEMENTS.values()):
            copy = folder / f"{name}-{number}"
            shutil.copytree(warehouse, copy)
            statement(str(copy), name)
            shutil.rmtree(copy)
    held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY, held + MEMORY))
    for place in places:
        at[:8] = struct.pack("<q", place)
        work = folder / "work"
        try:
            figures.outcomes.update(Counter(outcomes(made, work, seed, place)))
        except Exception:
            said = traceback.format_exc()[-2000:]  # all of them fit into a pipe
            figures.findings.append(f"input {place} of seed {seed}: {said}")
        shutil.rmtree(work)
        if len(figures.findings) >= MOST_FINDINGS:
            break
    said = json.dumps({"outcomes": figures.outcomes, "findings": figures.findings})
    os.write(report, said.encode())


def process(seed: int, places: range) -> Figures:
    """What processes of their own make of some inputs."""
    return fuzz.process(seed, places, live)


if __name__ == "__main__":
    sys.exit(fuzz.main(__doc__, process))
