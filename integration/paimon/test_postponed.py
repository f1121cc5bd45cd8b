"""Postponed buckets by turns of keyfold and Paimon's Java library: each gives rows of the other
their buckets, both then read the same, and no key is in two buckets.

Longer by hand: KEYFOLD_TURNS=200.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import keyfold as keyfold_python
from integration.keyed import create_keyed
from integration.paimon.library import Paimon
from integration.paimon.sides import Java, Keyfold, Shape
from integration.planning.plans import plan_of
from keyfold.testing.tables import Record

COLUMNS = {"k": "INT", "v": "INT", "p": "DATE"}
HISTORIES = int(os.environ.get("KEYFOLD_TURNS", "2"))
SEEN = "postpone.batch-write-fixed-bucket"
MERGED = "postpone.merge-on-read"


class History:
    """One table by turns, and the rows that it must show."""

    def __init__(
        self, draw: random.Random, ours: Keyfold, java: Java, name: str, *, merges: bool
    ) -> None:
        self.draw, self.ours, self.java, self.name, self.merges = draw, ours, java, name, merges
        self.sums = draw.random() < 0.5
        options = {"bucket": "-2", "postpone.default-bucket-num": str(draw.randint(1, 4))}
        options |= {"num-sorted-run.compaction-trigger": str(draw.randint(2, 5))}
        options |= {MERGED: str(merges).lower()}
        if self.sums:
            options |= {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
        draw.choice((java, ours)).create(Shape(name, COLUMNS, ("p", "k"), ("p",), options))
        self.table = keyfold_python.connect(ours.warehouse).table(f"shared.{name}")
        self.waiting: list[Record] = []
        self.wanted: dict[int, int] = {}

    def rows(self, step: int) -> list[Record]:
        """Rows of some keys, each in a partition of its own, of which some are deletes."""
        day, keys = dt.date(2024, 1, 1), self.draw.sample(range(60), self.draw.randint(1, 30))
        kinds = [3 if self.draw.random() < 0.1 and not self.sums else 0 for _ in keys]
        return [
            (kind, {"k": k, "v": step * 100 + k, "p": day + dt.timedelta(k % 2)})
            for kind, k in zip(kinds, keys, strict=True)
        ]

    def turn(self, step: int) -> None:
        """Somebody writes rows, or gives them their buckets."""
        what, rows = self.draw.random(), self.rows(step)
        if what < 0.4:
            self.java.write(self.table._layout, self.name, rows)
            self.waiting += rows
        elif what < 0.7:
            is_seen = self.draw.random() < 0.5
            self.table.alter(options={SEEN: str(is_seen).lower()})
            rows = [(0, row) for _, row in rows]
            self.table.upsert([row for _, row in rows])
            if is_seen:
                self.fold(self.wanted, rows)
            else:
                self.waiting += rows
        else:
            full = self.draw.random() < 0.5
            if self.draw.random() < 0.5:
                self.java.compact(self.name, full=full)
            else:
                self.table.compact(strategy="full" if full else "minor")
            self.fold(self.wanted, self.waiting)
            self.waiting = []

    def fold(self, wanted: dict[int, int], rows: list[Record]) -> None:
        """The rows come to be seen."""
        for kind, row in rows:
            key, value = row["k"], row["v"]
            before = wanted.pop(key, 0)
            if kind == 0:
                wanted[key] = before + value if self.sums else value

    def check(self, what: Any) -> None:
        """Both read the rows, each once, and keyfold those that wait if the table says so."""
        layout, merged = self.ours.table(self.name).layout, dict(self.wanted)
        if self.merges:
            self.fold(merged, self.waiting)
        for side, wanted in ((self.java, self.wanted), (self.ours, merged)):
            found = side.read(layout, self.name).to_pylist()
            assert {row["k"]: row["v"] for row in found} == wanted, (side, what)
            assert len(found) == len(wanted)


def test_turns(paimon: Paimon, tmp_path: Path, seed: int) -> None:
    ours, draw = Keyfold(tmp_path), random.Random(seed)
    java = Java(tmp_path, paimon)
    for number in range(HISTORIES):
        history = History(draw, ours, java, f"t{number}", merges=number % 2 == 1)
        for step in range(10):
            history.turn(step)
            history.check((number, step))


def test_statements(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    table = fresh_name()
    short, folder = table.removeprefix("keyfold."), warehouse / "it.db" / table.split(".")[-1]
    spark.sql(
        f"CREATE TABLE {table} (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES "
        "('bucket' = '-2', 'postpone.default-bucket-num' = '3')"
    )

    def shown() -> dict[int, int]:
        found = [tuple(row) for row in spark.table(table).collect()]
        assert sorted(map(tuple, paimon.read(folder).rows)) == sorted(found)
        assert spark.table(table).count() == len(found) == len(dict(found))
        return dict(found)

    spark.sql(f"INSERT INTO {table} SELECT id, 1 FROM range(90)")
    spark.sql(f"UPDATE {table} SET v = 2 WHERE k % 3 = 0")
    spark.sql(f"DELETE FROM {table} WHERE k >= 60")
    wanted = {k: 2 if k % 3 == 0 else 1 for k in range(60)}
    assert shown() == wanted
    paimon.write(folder, [["+I", k, 3] for k in range(50, 70)])
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{SEEN}' = 'false')")
    spark.sql(f"INSERT INTO {table} SELECT id, 4 FROM range(65, 80)")
    assert shown() == wanted
    merged = wanted | dict.fromkeys(range(50, 65), 3) | dict.fromkeys(range(65, 80), 4)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{MERGED}' = 'true', '{SEEN}' = 'true')")
    check_merged(spark, table, merged)
    spark.sql(f"CALL keyfold.sys.compact(table => '{short}')")
    assert shown() == merged
    spark.sql(f"UPDATE {table} SET v = 5 WHERE k = 79")
    assert shown() == merged | {79: 5}


def check_merged(spark: SparkSession, table: str, wanted: dict[int, int]) -> None:
    """Scans show rows that wait, and what does not go by them is refused."""
    rows = spark.table(table)
    assert "of rows without buckets" in plan_of(rows)
    assert {row.k: row.v for row in rows.collect()} == wanted
    assert rows.count() == len(wanted)
    (found,) = spark.sql(f"SELECT min(k), max(k), sum(v) FROM {table}").collect()
    assert tuple(found) == (0, max(wanted), sum(wanted.values()))
    assert [row.v for row in rows.where("k = 79").collect()] == [wanted[79]]
    assert rows.where("v = 3").count() == list(wanted.values()).count(3)
    assert [row.k for row in rows.orderBy("k").limit(3).collect()] == sorted(wanted)[:3]
    found = spark.sql(f"SELECT /*+ BROADCAST(t) */ o.id FROM range(100) o JOIN {table} t ON id = k")
    assert found.count() == len(wanted)
    hinted = f"SELECT /*+ LOOKUP(t) */ k, v FROM range(100) o JOIN {table} t ON CAST(id AS INT) = k"
    assert "LookupJoin" in plan_of(spark.sql(hinted))
    assert {row.k: row.v for row in spark.sql(hinted).collect()} == wanted
    for refused in (
        f"UPDATE {table} SET v = 5 WHERE k = 79",
        f"DELETE FROM {table} WHERE v = 3",
        f"SELECT k, _bucket FROM {table}",
    ):
        with pytest.raises(PySparkException, match="rows wait for their buckets"):
            spark.sql(refused).collect()
    with pytest.raises(PySparkException, match=f"option {MERGED} is 'true'"):
        spark.sql(f"SELECT * FROM {table} CHANGES FROM VERSION 1 TO VERSION 2").collect()


def test_streams(spark: SparkSession, fresh_name: Callable[[], str], tmp_path: Path) -> None:
    source, table, copy = fresh_name(), fresh_name(), fresh_name()
    for name in (source, copy):
        create_keyed(spark, name, "k INT, v INT")
    create_keyed(spark, table, "k INT, v INT", bucket="-2", postpone__default_bucket_num=3)

    def streamed(first: str, second: str) -> None:
        stream = spark.readStream.table(first).writeStream.trigger(availableNow=True)
        stream = stream.option("checkpointLocation", str(tmp_path / second))
        stream.toTable(second).awaitTermination()

    def shown(name: str) -> dict[int, int]:
        return {row.k: row.v for row in spark.table(name).collect()}

    spark.sql(f"INSERT INTO {source} SELECT id, 1 FROM range(40)")
    streamed(source, table)
    streamed(table, copy)
    wanted = dict.fromkeys(range(40), 1)
    assert shown(table) == shown(copy) == wanted
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{SEEN}' = 'false')")
    spark.sql(f"INSERT INTO {source} SELECT id, 2 FROM range(30, 60)")
    streamed(source, table)
    streamed(table, copy)
    assert shown(table) == shown(copy) == wanted
    spark.sql(f"CALL keyfold.sys.compact(table => '{table.removeprefix('keyfold.')}')")
    streamed(table, copy)
    wanted |= dict.fromkeys(range(30, 60), 2)
    assert shown(table) == shown(copy) == wanted
