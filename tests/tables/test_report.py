"""`catalog.health`: each figure against what the tables' own calls say, and both forms of text."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.__main__ import main
from keyfold.tables.report import FIGURES

ROWS = [{"k": k, "v": k} for k in range(50)]
LINE = re.compile(r'keyfold_(\w+)\{table="([^"]*)"(?:,consumer="([^"]*)")?\} ([0-9.e+-]+)')


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    made = keyfold.connect(tmp_path / "w", threads=2)
    made.create_namespace("shop")
    options = {"write-only": "true", "num-sorted-run.compaction-trigger": "3", "bucket": "2"}
    for name, commits in (("shop.one", 3), ("shop.two", 1), ("three", 0)):
        table = made.create_table(name, {"k": "INT", "v": "INT"}, ["k"], (), options)
        for _ in range(commits):
            table.upsert(ROWS)
    return made


def test_figures_are_those_of_each_table(catalog: Any) -> None:
    location = Path(catalog.table("shop.one").location)
    (location / "consumer").mkdir()
    (location / "consumer" / "consumer-feed").write_text('{"nextSnapshot": 2}')
    lost = next(location.glob("bucket-*")) / f"data-{'0' * 8}-0000-0000-0000-{'0' * 12}-0.parquet"
    lost.write_bytes(b"12345")
    os.utime(lost, (0, 0))
    found = catalog.health(orphans=True)
    assert [one.table for one in found.tables] == ["default.three", "shop.one", "shop.two"]
    empty, one, two = found.tables
    health = catalog.table("shop.one").health().to_pylist()
    for name in ("files", "level0_files", "bytes", "rows", "delete_rows"):
        assert getattr(one, name) == sum(row[name] for row in health)
    assert (one.snapshot, one.snapshots, one.most_runs, one.buckets) == (3, 3, 3, 2)
    assert (one.orphan_files, one.orphan_bytes, one.consumers) == (1, 5, {"feed": 2})
    assert one.buckets_with_advice == 2
    assert "write-only, and no compaction for 3 runs" in one.advice[0]
    assert (two.advice, two.read_amplification, two.orphan_files) == ((), 1.0, 0)
    assert (empty.snapshot, empty.seconds_since_commit, empty.files) == (None, None, 0)
    assert catalog.health("shop").tables[0].orphan_files is None
    told = json.loads(found.to_json())
    assert told["tables"][1]["consumers"] == {"feed": 2}
    lines = [LINE.fullmatch(n) for n in found.to_prometheus().splitlines() if n[0] != "#"]
    values = {(m[1], m[2], m[3]): float(m[4]) for m in lines if m}
    assert len(values) == len(lines)
    assert values["consumer_lag", "shop.one", "feed"] == 2
    for name in FIGURES:
        for table in found.tables:
            assert values.get((name, table.table, None)) == getattr(table, name)


def test_a_broken_table_does_not_hide_the_others(catalog: Any, capsys: Any) -> None:
    table = catalog.table("shop.one")
    for manifest in Path(table.location).glob("snapshot/snapshot-*"):
        manifest.write_text("{")
    found = {one.table: one for one in catalog.health().tables}
    assert found["shop.two"].error is None
    assert "can't be read" in str(found["shop.one"].error)
    warehouse = str(Path(table.location).parents[1])
    assert main(["report", "shop", "--prometheus", "--warehouse", warehouse]) == 0
    text = capsys.readouterr().out
    assert 'keyfold_readable{table="shop.one"} 0' in text
    assert 'keyfold_readable{table="shop.two"} 1' in text
    assert main(["report", "--json", "--prometheus", "--warehouse", warehouse]) == 1
    assert "--json or --prometheus, found both" in capsys.readouterr().err
    assert main(["report", "--json", "--warehouse", warehouse]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["table"] for line in lines] == sorted(found)
