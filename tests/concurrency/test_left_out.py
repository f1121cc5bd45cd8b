"""Jobs at the same time in one partition end as they would if every manifest were read, where that
of another partition is damaged: none of them looks at it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from keyfold.errors import CorruptDataError, KeyfoldError
from keyfold.kernels.ops import UPDATE_AFTER
from keyfold.read import scan_plan
from keyfold.read.request import ReadRequest
from tests.compact import parts
from tests.concurrency import jobs
from tests.read import harness
from tests.storage import damaged, tables

ONE = [harness.where("=", "p", 1)]
COLUMNS = (tables.column("p"), tables.column("k"), tables.column("v"))


class CompactOne(jobs.Compact):
    """A compaction of the partition."""

    def __init__(self, place: jobs.Place) -> None:
        self.place, self.table = place, jobs.table_of(place)
        asked = {"strategy": "full", "partitions": "p=1", "where": [], "touched": None}
        self.planned = parts.plan_steps(jobs.question(self.table, place, compaction=asked))
        self.done = []


def rows(k: int, v: int) -> list[jobs.Row]:
    return [{"p": 1, "k": k, "v": v}]


JOBS: dict[str, Callable[[str], Any]] = {
    "append": lambda folder: jobs.Write(folder, rows(2, 200)),
    "replace": lambda folder: jobs.Write(folder, rows(3, 300), "overwrite", ONE),
    "dynamic": lambda folder: jobs.Write(folder, rows(4, 400), "overwrite_dynamic"),
    "change": lambda folder: jobs.Changes(folder, [(UPDATE_AFTER, rows(1, 500)[0])], "UPDATE"),
    "compact": CompactOne,
}


def told(folder: str, seed: int, *, is_damaged: bool) -> list[Any]:
    """The outcomes of the jobs, which are planned together and committed one after another, and
    what they leave in the partition.
    """
    draw = Random(seed)
    tables.table(Path(folder), tables.new_table(*COLUMNS, key="p,k", by="p", bucket="1"))
    for written in (rows(1, 10), rows(1, 11), [{"p": 9, "k": 9, "v": 90}]):
        jobs.written(folder, written)
    if is_damaged:
        table = jobs.table_of(folder)
        *_, other = table.manifests.listed(table.snapshots.read(3))
        Path(table.manifests.path(other["_FILE_NAME"])).write_bytes(b"")
        damaged.forget()
        with pytest.raises(CorruptDataError, match=other["_FILE_NAME"]):
            table.live_files()
    running = [(name, make(folder).run()) for name, make in JOBS.items()]
    draw.shuffle(running)
    found: list[Any] = []
    for place, (name, job) in enumerate(running):
        damaged.forget()
        try:
            found.append((name, job.commit()))
        except KeyfoldError as error:
            found.append((name, type(error).__name__))
        if place == 1:  # the first snapshot alone goes
            table = jobs.table_of(folder)
            found.append(("expire", jobs.expired(folder, (table.snapshot_id or 0) - 1, 1)))
    damaged.forget()
    scan, made, _ = scan_plan.plan_read(jobs.table_of(folder), ReadRequest(("k", "v"), tuple(ONE)))
    left = jobs.read_all(scan, [split for task in made for split in task])
    return [*found, sorted((row["k"], row["v"]) for row in left)]


@pytest.mark.parametrize("seed", range(4))
def test_they_end_as_if_all_were_read(tmp_path: Path, seed: int) -> None:
    expected = told(str(tmp_path / "sound"), seed, is_damaged=False)
    assert ("expire", 1) in expected
    assert told(str(tmp_path / "damaged"), seed, is_damaged=True) == expected
