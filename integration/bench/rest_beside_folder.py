"""Statements in a REST catalog beside the same in a folder:
python -m integration.bench.rest_beside_folder

The server is that of Paimon's own tests, on this machine, with its tables in a folder of the same
disk. Both have a table as those of `many_files`, whose statements are those of `store_requests`;
they take turns. Milliseconds, of the clock and of this process' processor.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import keyfold
from integration.bench import many_files
from integration.bench.cells import table
from integration.bench.store_requests import ROW, statements
from integration.paimon import rest_server
from keyfold.storage.catalogs.warehouse import open_catalog

TIMES = 15
LEFT_OUT = ("expiry", "orphan")  # they work on files, which no catalog has


def made(options: Mapping[str, str], files: int) -> Any:
    """The catalog, with a table of so many files and a partition of a row."""
    catalog = open_catalog("test", options)
    if ["default"] not in catalog.list_namespaces():
        catalog.create_namespace(["default"], {})
    many_files.fill(catalog.create_table(["default"], "t", many_files.new_table()), files)
    given = dict(options)
    connected = keyfold.connect(given.pop("warehouse"), **given)
    connected.table("default.t").upsert([ROW])
    return connected


def measured(sides: Mapping[str, Any]) -> dict[str, dict[str, tuple[float, float]]]:
    """The clock and the processor of each statement on each side, medians of turns."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for name in statements(None):
        if name.startswith(LEFT_OUT):
            continue
        took: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
        for turn in range(TIMES + 2):
            for side, connected in sides.items():
                opened = connected.table("default.t")
                if name.startswith("full"):
                    opened.upsert([ROW])  # there is something to do
                began, before = time.perf_counter(), time.process_time()
                statements(connected.table("default.t"))[name]()
                spent = time.perf_counter() - began, time.process_time() - before
                if turn >= 2:
                    took[side].append(spent)
        found[name] = {
            side: tuple(1000 * median(of) for of in zip(*each, strict=True))
            for side, each in took.items()
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000, help="the files of the table")
    asked = parser.parse_args()
    temporary = tempfile.TemporaryDirectory
    with temporary() as folder, temporary() as at, rest_server.running(Path(at)) as options:
        places = {"folder": {"warehouse": folder}, "REST": options}
        found = measured({side: made(given, asked.files) for side, given in places.items()})
    rows = []
    for name, of in found.items():
        cells = [f"{clock:.1f} / {own:.1f}" for clock, own in of.values()]
        rows.append([name, *cells, f"{of['REST'][0] / of['folder'][0]:.2f}"])
    print(table(["clock / processor, ms", "folder", "REST", "ratio of clocks"], rows))


if __name__ == "__main__":
    main()
