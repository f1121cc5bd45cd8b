"""The partitions that SHOW PARTITIONS lists are those of which a scan shows a row: random histories
of rows that come, go, move and are merged.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from keyfold.kernels.ops import DELETE
from keyfold.questions import partitions
from keyfold.storage.table import Table
from tests.concurrency import jobs
from tests.concurrency.jobs import Changes, catalog, table_of
from tests.draws import times
from tests.read import harness
from tests.storage import tables

OPTIONS = {
    "deduplicate": {},
    "sequence": {"sequence__field": "v"},
    "first-row": {"merge_engine": "first-row"},
    "partial-update": {"merge_engine": "partial-update"},
    "aggregation": {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"},
}


def made(folder: Path, engine: str) -> Table:
    columns = (tables.column("p", nullable=False), tables.column("k"), tables.column("v"))
    new = tables.new_table(*columns, key="p,k", by="p", bucket="1", **OPTIONS[engine])
    return catalog(str(folder)).create_table(["default"], "t", new)


def listed(folder: Path) -> list[int]:
    table = table_of(str(folder))
    found: list[int] = partitions.partitions(table, lambda _: True).column("p").to_pylist()
    return sorted(found)


def removed(folder: Path, rows: list[dict[str, Any]]) -> None:
    stored = [row | {"_STORED_v": row["v"]} for row in rows]
    Changes(str(folder), [(DELETE, row) for row in stored], "DELETE").run().commit()


@pytest.mark.parametrize("engine", OPTIONS)
def test_partitions_with_rows_are_listed(tmp_path: Path, engine: str, seed: int) -> None:
    draw, table = Random(f"{seed} {engine}"), made(tmp_path, engine)
    gone = 0
    for _ in range(times(15)):
        rows = harness.rows(table)
        step = draw.choice(["insert", "insert", "delete", "delete all", "compact"])
        if step == "insert":
            keys = draw.sample(range(12), draw.choice((1, 3)))
            jobs.written(
                str(tmp_path), [{"p": k % 3, "k": k, "v": draw.randrange(4)} for k in keys]
            )
        elif step == "delete":
            removed(tmp_path, draw.sample(rows, len(rows) // 2))
        elif step == "delete all":
            one = draw.randrange(3)
            removed(tmp_path, [row for row in rows if row["p"] == one])
        else:
            jobs.compacted(str(tmp_path), draw.choice(["full", "minor"]))
        shown = sorted({row["p"] for row in harness.rows(table)})
        assert listed(tmp_path) == shown, (step, rows)
        stored = {file.partition for file in table_of(str(tmp_path)).live_files()}
        gone += len(stored) > len(shown)
    assert gone, "no partition held deletes alone"


def test_a_partition_whose_rows_moved_is_not_listed(tmp_path: Path) -> None:
    """Also after a full compaction, which keeps the deletes for rows that come late."""
    made(tmp_path, "sequence")
    jobs.written(str(tmp_path), [{"p": p, "k": k, "v": 5} for p in (1, 2) for k in range(3)])
    removed(tmp_path, [{"p": 1, "k": k, "v": 5} for k in range(3)])
    jobs.compacted(str(tmp_path))
    assert {file.partition for file in table_of(str(tmp_path)).live_files()} == {(1,), (2,)}
    assert listed(tmp_path) == [2]
    jobs.written(str(tmp_path), [{"p": 1, "k": 0, "v": 4}])  # late
    assert listed(tmp_path) == [2]
    jobs.written(str(tmp_path), [{"p": 1, "k": 0, "v": 6}])
    assert listed(tmp_path) == [1, 2]
