"""Tables of several levels whose older rows are marked, as compactions of Paimon leave them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from keyfold.storage.commits import commit
from keyfold.storage.metadata.entries import LiveFile
from keyfold.write.writer import write
from tests.read import harness
from tests.storage import marked, tables

Row = dict[str, Any]
LEVELS = 5


class Marked:
    """A table, its rows by key, and where the row of each key is: a file and a position in it."""

    def __init__(self, folder: Path, *, bits: int = 32, **options: str) -> None:
        options = {"keyfold__row_group__rows": "1024", "num_levels": str(LEVELS + 1)} | options
        columns = [
            tables.column("k", "int"),
            tables.column("v", "long"),
            tables.column("t", "string"),
        ]
        self.table = tables.table(folder, tables.new_table(*columns, **options))
        self.bits = bits
        self.rows: dict[int, Row] = {}
        self.places: dict[int, tuple[str, int]] = {}
        self.marks: dict[str, set[int]] = {}

    def add(self, rows: list[Row], level: int) -> None:
        """A job whose files are on a level, less the older rows of its keys if that is not 0."""
        marked.enable(self.table, "false")  # so that jobs of ours may write it
        table = tables.reload(self.table)
        spec, found = harness.job(table.layout), []
        for one in write(spec, harness.batches(table.layout, rows, 1000)):
            files = tuple(replace(file, level=level) for file in one.files)
            found.append(replace(one, files=files))
        commit.append(table, spec, found)
        if level:
            for file in self.files:
                if file.max_sequence == spec.sequence:
                    self._took(file)
            self.rows |= {row["k"]: row for row in rows}

    def _took(self, file: LiveFile) -> None:
        path = f"{file.folder(self.table.layout)}/{file.name}"
        for place, key in enumerate(pq.read_table(path)["k"].to_pylist()):
            if key in self.places:
                self.delete(key)
            self.places[key] = file.name, place

    def delete(self, key: int) -> None:
        """Mark the row of a key."""
        name, place = self.places.pop(key)
        self.marks.setdefault(name, set()).add(place)
        del self.rows[key]

    @property
    def files(self) -> list[LiveFile]:
        """The files of the newest snapshot."""
        return tables.reload(self.table).live_files()

    def publish(self, **change: Any) -> list[Path]:
        """The marks become those of the newest snapshot; returns the index files."""
        marked.enable(self.table)
        return marked.mark(self.table, self.files, self.marks, self.bits, **change)

    @property
    def expected(self) -> list[Row]:
        """The rows in the order of their keys."""
        return [self.rows[key] for key in sorted(self.rows)]


def drawn(folder: Path, seed: int, jobs: int = 4, most: int = 3000, **how: Any) -> Marked:
    """A table of some jobs, each above the one before, and some deletes."""
    source = random.Random(seed)
    found = Marked(folder, **how)
    for number in range(jobs):
        keys = source.sample(range(most), source.randrange(2 * most // 3, most))
        rows = [{"k": k, "v": number * most + k, "t": f"{number}/{source.random()}"} for k in keys]
        found.add(rows, LEVELS - number)
        for key in source.sample(sorted(found.rows), len(found.rows) // 10):
            found.delete(key)
    found.publish()
    return found
