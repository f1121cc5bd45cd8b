"""Requests to an object store by statement: python -m integration.bench.store_requests

Tables as those of `many_files`, on the S3 server of the tests, which waits before each answer,
beside one partition of rows, which statements read and change. The process forgets what it keeps
before a statement counts as the first. --files takes other numbers of files than 1,000, 100,000 and
1,000,000.
"""

from __future__ import annotations

import argparse
import itertools
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keyfold
from integration.bench import many_files
from integration.bench.cells import short, table
from keyfold.storage.catalogs.warehouse import open_catalog
from tests.storage import damaged
from tests.stores import server

SIZES = (1_000, 100_000, 1_000_000)
DELAY = 0.02  # seconds of each answer
KINDS = ("GET", "HEAD", "LIST", "PUT", "DELETE", "POST")
BEGINS = "## Requests"
ABOUT = """\
Each cell has the requests by kind, the bytes both ways and the seconds of the clock, from Python,
of the first call in a process and of the next; each answer waits for 20 ms. The table has
partitions of 100 buckets with a file each, and one of a row, which the statements are about. A call
that is followed by a compaction has that in its numbers too; a micro-batch is an upsert with the
token of a stream. Plan and orphan removal are of the whole table: they alone grow with it. The
files of the large tables do not exist; each thousand that do is one more LIST of orphan removal.
`python -m integration.bench.store_requests` writes this section."""
Counted = dict[str, float]
BATCHES = itertools.count()
OWN = -1  # the partition of rows
ROW = {"p": OWN, "k": 1, "a": 1, "b": 1, "c": 1, "d": 1, "e": 1}


def statements(found: Any) -> dict[str, Callable[[], Any]]:
    """The statements, in their order; all of them are of the partition of rows."""
    where = f"p = {OWN}"
    return {
        "`INSERT` of a row": lambda: found.upsert([ROW]),
        "`SELECT` of a partition": lambda: found.scan(["k", "a"], where=where).to_pylist(),
        "look-up of a key": lambda: found.get({"p": OWN, "k": 1}),
        "`UPDATE` of a row": lambda: found.update(f"{where} AND k = 1", {"a": 2}),
        "micro-batch of a row": lambda: found.upsert([ROW], token=("stream", next(BATCHES))),
        "full compaction of a partition": lambda: found.compact("full", partitions=f"p={OWN}"),
        "expiry of all snapshots but one": lambda: found.expire(retain_max=1),
        "plan of the whole table": lambda: found.scan(["k", "a"]).explain(),
        "orphan removal": lambda: found.remove_orphans(dry_run=True),
    }


def measured(files: int, delay: float = DELAY) -> Iterator[tuple[str, Counted, Counted]]:
    """Each statement with the requests of its first call and of its next."""
    with server.running(delay) as options:
        catalog = open_catalog("test", options)
        many_files.fill(catalog.create_table(["default"], "t", many_files.new_table()), files)
        connected = keyfold.connect(options.pop("warehouse"), **options)
        connected.table("default.t").upsert([ROW])
        for name in statements(None):
            damaged.forget()
            first, following = (_of_one(connected, name, options) for _ in range(2))
            yield name, first, following


def _of_one(connected: Any, name: str, options: dict[str, str]) -> Counted:
    found = connected.table("default.t")
    if name.startswith(("full", "expiry")):
        found.upsert([ROW])  # there is something to do
    server.counted(options)
    began = time.perf_counter()
    statements(found)[name]()
    took = time.perf_counter() - began
    return {**server.counted(options), "seconds": took}


def section(results: dict[int, list[tuple[str, Counted, Counted]]]) -> str:
    """The section of the page."""
    heads = ["", *(f"{files:,} files, {when}" for files in results for when in ("first", "next"))]
    rows = []
    for place, (name, _, _) in enumerate(next(iter(results.values()))):
        cells = [_cell(one) for found in results.values() for one in found[place][1:]]
        rows.append([name, *cells])
    return f"{BEGINS}\n\n{table(heads, rows)}\n{ABOUT}\n"


def _cell(found: Counted) -> str:
    kinds = [f"{found[kind]} {kind}" for kind in KINDS if found.get(kind)]
    requests = ", ".join(kinds) or "none"
    return f"{requests}; {found['bytes'] / 1024:,.0f} kB; {short(found['seconds'])} s"


def put(docs: Path, text: str) -> None:
    """Put the section into the page, in the place of the one that is there."""
    path = docs / "scale.md"
    stored = path.read_text(encoding="utf-8")
    parts = re.split(r"^(?=## )", stored, flags=re.MULTILINE)
    written = [f"{text}\n" if part.startswith(BEGINS) else part for part in parts]
    path.write_text("".join(written), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=SIZES, help="sizes of tables")
    parser.add_argument(
        "--docs", type=Path, help="the folder of the page to write; else it is shown"
    )
    asked = parser.parse_args()
    text = section({files: list(measured(files)) for files in asked.files})
    print(text) if asked.docs is None else put(asked.docs, text)


if __name__ == "__main__":
    main()
