"""Metadata columns against the records of every file, for each engine and way to merge."""

from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from keyfold.read import reader
from keyfold.resources.merge_room import MergeRoom
from keyfold.storage.table import Table
from tests.read import harness
from tests.storage import tables

NAMES = ("_level", "_sequence_number", "_file", "_bucket")
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence__field": "seq"},
    "first-row": {"merge_engine": "first-row", "ignore_delete": "true"},
    "aggregation": {"merge_engine": "aggregation", "fields__v__aggregate-function": "sum"},
    "partial-update": {"merge_engine": "partial-update", "ignore_delete": "true"},
}


def made(folder: Path, random: Random, engine: str) -> Table:
    """A table of several jobs, some of which overlap."""
    columns = (
        tables.column("k", nullable=False),
        tables.column("v"),
        tables.column("seq"),
        tables.column("kind", "string"),
    )
    kind = {"rowkind__field": "kind"} if engine in ("deduplicate", "sequence") else {}
    options = {"write_only": "true"} | ENGINES[engine] | kind
    found = tables.table(folder, tables.new_table(*columns, **options))
    for _ in range(5):
        low = random.choice([0, 0, 0, 500])
        keys = random.sample(range(low, low + 300), 120)
        kinds = ["+I", "+I", "-D"] if kind else ["+I"]
        rows = [
            {
                "k": k,
                "v": random.randrange(9),
                "seq": random.randrange(3),
                "kind": random.choice(kinds),
            }
            for k in keys
        ]
        harness.upsert(found, rows)
    return found


def expected(found: Table, engine: str) -> dict[int, dict[str, Any]]:
    """The metadata of each key that has a row, by all records of all files."""
    records: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for file in tables.reload(found).live_files():
        path = f"{found.layout.location}/bucket-{file.bucket}/{file.name}"
        for row in pq.read_table(path).to_pylist():
            seq = (row["seq"],) if engine == "sequence" else ()
            order = (*seq, row["_SEQUENCE_NUMBER"])
            values = (file.level, row["_SEQUENCE_NUMBER"], path, file.bucket)
            records[row["k"]].append((order, row["_VALUE_KIND"], values))
    rows = {}
    for key, listed in records.items():
        listed.sort()
        _, kind, (level, number, path, bucket) = listed[0 if engine == "first-row" else -1]
        if len(listed) > 1 and engine in ("aggregation", "partial-update"):
            level = path = None
        if kind != 3:
            rows[key] = dict(zip(NAMES, (level, number, path, bucket), strict=True))
    return rows


@pytest.mark.parametrize("is_spilled", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_metadata_are_those_of_the_winning_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, engine: str, is_spilled: bool
) -> None:
    found = made(tmp_path, Random(f"{seed} {engine}"), engine)
    if is_spilled:
        monkeypatch.setattr(reader, "MergeRoom", Small)
    known = expected(found, engine)
    rows = harness.rows(found, ["k", *NAMES])
    assert {row.pop("k"): row for row in rows} == known
    for name in NAMES:
        alone = [row[name] for row in harness.rows(found, [name])]
        assert sorted(map(str, alone)) == sorted(str(row[name]) for row in known.values())
    filtered = harness.rows(found, ["_file", "v"], [harness.where("<", "k", 40)])
    assert [list(row) for row in filtered[:1]] == [["v", "_file"]]
    assert len(filtered) == sum(key < 40 for key in known)
    assert len(harness.rows(found, [*NAMES], limit=3)) == 3 * 2


class Small:
    """Room for two runs at once."""

    @staticmethod
    def now() -> MergeRoom:
        return MergeRoom(1, 1 << 10)
