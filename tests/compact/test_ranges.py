"""A full compaction of many files goes by ranges of partitions: it does what one plan would."""

from pathlib import Path

import pytest

import keyfold
from keyfold import Table
from keyfold.compact import compaction_plan
from keyfold.read import plan_ranges

PARTITIONS = 5
COLUMNS = {"p": "INT", "k": "INT", "v": "INT"}


def filled(folder: Path, name: str) -> Table:
    """Two files in each partition, the later of which are of later commits."""
    options = {"bucket": "1", "write-only": "true"}
    connected = keyfold.connect(folder, threads=1)
    found = connected.create_table(name, COLUMNS, ["p", "k"], partitions=["p"], options=options)
    for value in range(2):
        for p in range(PARTITIONS):
            found.upsert([{"p": p, "k": k, "v": value} for k in range(4)])
    return found


def test_ranges_are_compacted_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, sizes = compaction_plan.plan_steps, list[int]()

    def counted(table: object, asked: compaction_plan.CompactionRequest) -> object:
        found = plan(table, asked)
        sizes.append(sum(step.files for step in found[1]))
        return found

    monkeypatch.setattr(compaction_plan, "plan_steps", counted)
    rows = {}
    for name, most in (("whole", 100), ("ranges", 3)):
        monkeypatch.setattr(plan_ranges, "FILES_OF_RANGE", most)
        found = filled(tmp_path, name)
        sizes.clear()
        done = found.compact("full")
        assert done.column("status").to_pylist() == ["committed"] * PARTITIONS
        assert done.column("partition").to_pylist() == [f"p={p}" for p in range(PARTITIONS)]
        assert found.scan().explain()["files"] == PARTITIONS
        rows[name] = sorted(map(str, found.scan().to_pylist()))
        assert max(sizes) == (2 * PARTITIONS if name == "whole" else 4)
        assert found.compact("full").num_rows == 0
    assert rows["whole"] == rows["ranges"]
    assert len(rows["whole"]) == 4 * PARTITIONS
