"""Rows that go by their age, beside Paimon's Java library on the same table."""

from __future__ import annotations

import datetime as dt
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import keyfold
from integration.paimon.library import Paimon, row
from integration.paimon.library import table as as_arrow
from keyfold import Table

NOW, DAY = int(time.time()), 86_400
AGES = (-30 * DAY, -3600, 0, DAY // 2, DAY - 3600, DAY + 3600, 9 * DAY, 90 * DAY)
Row = tuple[Any, ...]


def made(folder: Path, kind: str = "INT", **options: str) -> Table:
    columns = {"k": "INT", "at": kind, "v": "STRING"}
    by_age = {"record-level.expire-time": "1 d", "record-level.time-field": "at"}
    catalog = keyfold.connect(folder, threads=1)
    return catalog.create_table("t", columns, ["k"], options={"bucket": "1"} | by_age | options)


def moment(seconds: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(seconds=seconds)


TIMES = {
    "seconds": ("INT", lambda at: at),
    "seconds-long": ("BIGINT", lambda at: at),
    "milliseconds": ("BIGINT", lambda at: at * 1000),
    "timestamp": ("TIMESTAMP", moment),
    "without zone": ("TIMESTAMP_NTZ", lambda at: moment(at).replace(tzinfo=None)),
}


def ours(table: Table) -> set[Row]:
    return {tuple(r.values()) for r in table.scan().to_pylist()}


def theirs(paimon: Paimon, table: Table) -> set[Row]:
    schema = table.scan().to_arrow().schema
    read = as_arrow(schema, paimon.read(Path(table.location)))
    return {tuple(r.values()) for r in read.to_pylist()}


@pytest.mark.parametrize("of", TIMES)
@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_java_lets_go_the_same_rows(paimon: Paimon, tmp_path: Path, of: str, producer: str) -> None:
    """Both show old rows until a compaction, which takes them; NULL and times to come stay."""
    kind, made_of = TIMES[of]
    options = {"write-only": "true", "changelog-producer": producer}
    table = made(tmp_path / "ours", kind, **options)
    table.upsert([{"k": k, "at": made_of(NOW - 30 * DAY), "v": "first"} for k in range(4)])
    every = [{"k": k, "at": made_of(NOW - age), "v": "x"} for k, age in enumerate(AGES)]
    table.upsert([*every, {"k": 99, "at": None, "v": "x"}])
    kept = {tuple(r.values()) for r, age in zip(every, AGES, strict=True) if age <= DAY}
    assert (
        ours(table)
        == theirs(paimon, table)
        == {tuple(r.values()) for r in every} | {(99, None, "x")}
    )
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    other = keyfold.connect(tmp_path / "theirs", threads=1).table("t")
    table.compact()
    paimon.compact(Path(other.location))
    assert ours(table) == kept | {(99, None, "x")}
    for one in (table, other):
        assert ours(one) == theirs(paimon, one) == ours(table)


def test_files_of_the_highest_level(paimon: Paimon, tmp_path: Path) -> None:
    """A full compaction writes a file anew that holds an old row, and no other."""
    table = made(tmp_path / "ours", **{"record-level.expire-time": "20 d"})
    table.upsert([{"k": k, "at": NOW - 9 * DAY * (k == 1), "v": "x"} for k in range(3)])
    table.compact()
    for name, age in (("theirs", "1 d"), ("same", "10 d")):
        shutil.copytree(tmp_path / "ours", tmp_path / name)
        other = keyfold.connect(tmp_path / name, threads=1).table("t")
        other.alter(options={"record-level.expire-time": age})
        before = other.snapshot
        paimon.compact(Path(other.location))
        other = keyfold.connect(tmp_path / name, threads=1).table("t")
        assert len(ours(other)) == (2 if name == "theirs" else 3)
        assert (other.snapshot == before) == (name == "same")
    table.alter(options={"record-level.expire-time": "1 d"})
    table.compact()
    assert {k for k, *_ in ours(table)} == {0, 2}


@pytest.mark.parametrize(
    ("options", "writes", "mine", "java"),
    [
        (  # the row's time is the newest of its parts
            {"merge-engine": "partial-update"},
            [(1, NOW - 9 * DAY, "old"), (1, NOW, None)],
            {(1, NOW, "old")},
            {(1, NOW, None)},
        ),
        (  # a part without a time is part of an old row
            {"merge-engine": "partial-update"},
            [(1, NOW - 9 * DAY, None), (1, None, "new")],
            set(),
            {(1, None, "new")},
        ),
        (  # the newest record is old: the row that it replaced does not come back
            {},
            [(1, NOW, "replaced"), (1, NOW - 9 * DAY, "newest")],
            set(),
            {(1, NOW, "replaced")},
        ),
    ],
    ids=["young part", "part without a time", "old record on top"],
)
def test_java_decides_by_records(
    paimon: Paimon,
    tmp_path: Path,
    options: dict[str, str],
    writes: list[Row],
    mine: set[Row],
    java: set[Row],
) -> None:
    """Paimon leaves old records out before it folds, keyfold old rows after that."""
    table = made(tmp_path / "ours", **options, **{"write-only": "true"})
    for one in writes:
        paimon.write(Path(table.location), [row("+I", *one)])
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    other = keyfold.connect(tmp_path / "theirs", threads=1).table("t")
    paimon.compact(Path(other.location))
    table.compact()
    assert ours(table) == mine
    assert ours(other) == java
