"""Tables whose rows Paimon's Java library and keyfold mark in deletion vectors, beside tables of
the same jobs that have none: whatever is asked, both have the same rows. Longer by hand:
KEYFOLD_TURNS=20.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration.keyed import create_keyed
from integration.paimon.bench import in_order
from integration.paimon.library import Paimon
from integration.paimon.sides import NAMESPACE, Change, Java, Keyfold, Shape, Side
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.testing.tables import Record
from tests import readers

COLUMNS = {"p": "INT", "k": "INT", "n": "BIGINT", "v": "STRING"}
SUMS = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
KEYS, JOBS = 120, 5
TURNS = int(os.environ.get("KEYFOLD_TURNS", "1"))
REMOVES = "partial-update.remove-record-on-delete"
NOT_PYPAIMON = {REMOVES, "deletion-vectors.bitmap64"}  # it reads no such tables
TABLES: tuple[dict[str, str], ...] = (
    {},
    {"deletion-vectors.bitmap64": "true", "bucket": "-1", "sequence.field": "n"},
    {"merge-engine": "partial-update", REMOVES: "true"},
    SUMS,
    {"changelog-producer": "input", "target-file-size": "2 kb"},
    {"changelog-producer": "lookup", "deletion-vectors.bitmap64": "true"},
)
Row = dict[str, Any]


class Twins:
    """A table with deletion vectors and one without, both written by Java."""

    def __init__(self, warehouse: Path, paimon: Paimon, options: dict[str, str]) -> None:
        self.java, self.keyfold = Java(warehouse, paimon), Keyfold(warehouse)
        self.has_deletes = options.get("merge-engine") != "aggregation"
        for name, enabled in (("marked", "true"), ("plain", "false")):
            shape = {"bucket": "2", "deletion-vectors.enabled": enabled} | options
            self.java.create(Shape(name, COLUMNS, ("p", "k"), ("p",), shape))
        connection = keyfold.connect(str(warehouse))
        self.marked, self.plain = (
            connection.table(f"{NAMESPACE}.{n}") for n in ("marked", "plain")
        )

    def write(self, rows: list[Record], by: Side | None = None) -> None:
        """One job, of Java by default."""
        for name in ("marked", "plain"):
            (by or self.java).write(self.keyfold.table(name).layout, name, rows)

    def drawn(self, source: random.Random, number: int) -> list[Record]:
        """Rows of a job, some of which delete."""
        found = []
        for key in source.sample(range(KEYS), source.randrange(1, KEYS)):
            kind = 3 if self.has_deletes and source.random() < 0.2 else 0
            row = {"p": key % 2, "k": key, "n": number * KEYS + key, "v": f"{number}/{key}"}
            found.append((kind, row))
        return found

    def compact(self, *, full: bool = False) -> None:
        """What a write of Paimon's does behind its commit, as it waits for look-ups."""
        self.java.compact("marked", full=full)


def rows_of(found: Any) -> list[Row]:
    return sorted(found.to_pylist(), key=repr)


@pytest.fixture(params=TABLES, ids=lambda options: ",".join(options.values()) or "deduplicate")
def twins(request: pytest.FixtureRequest, paimon: Paimon, tmp_path: Path) -> Twins:
    """Two tables of some jobs and compactions."""
    return Twins(tmp_path, paimon, request.param)


def test_the_same_rows(twins: Twins, tmp_path: Path, paimon: Paimon, seed: int) -> None:
    source, name, vectors = random.Random(seed), "marked", 0
    for number in range(JOBS):
        twins.write(twins.drawn(source, number))
        if source.random() < 0.7:
            twins.compact(full=source.random() < 0.1)
        layout = twins.keyfold.table(name).layout
        theirs = in_order(twins.java.read(layout, name))
        assert in_order(twins.keyfold.read(layout, name)) == theirs
        plain = rows_of(twins.plain.scan())
        option = {"deletion-vectors.merge-on-read": "true"}
        assert rows_of(twins.marked.scan(options=option)) == plain
        vectors += sum(file.vector is not None for file in twins.keyfold.table(name).live_files())
    assert vectors, "no row was ever marked"
    twins.compact()
    checked(twins, source)
    for other, read in readers.READERS.items():
        if other != "pypaimon" or not layout.options.keys() & NOT_PYPAIMON:
            assert rows_of(read(tmp_path, f"{NAMESPACE}.{name}")) == rows_of(twins.plain.scan())
    history(twins)


def checked(twins: Twins, source: random.Random) -> None:
    """All forms of reads of both tables."""
    marked, plain = twins.marked, twins.plain
    rows = rows_of(plain.scan())
    assert rows_of(marked.scan()) == rows
    assert marked.scan().count() == len(rows)
    least = source.randrange(JOBS * KEYS)
    condition = f"n > {least}"
    assert rows_of(marked.scan(where=condition)) == rows_of(plain.scan(where=condition))
    assert marked.scan(where=condition).count() == plain.scan(where=condition).count()
    keys = [{"p": k % 2, "k": k} for k in source.sample(range(KEYS), 20)]
    assert [marked.get(key) for key in keys] == [plain.get(key) for key in keys]
    assert marked.get_many(keys) == plain.get_many(keys)
    assert rows_of(marked.prefix({"p": 1})) == rows_of(plain.prefix({"p": 1}))


def history(twins: Twins) -> None:
    """Older snapshots, tags and changes."""
    snapshots = twins.marked.metadata("snapshots").to_pylist()
    middle = snapshots[len(snapshots) // 2]["snapshot_id"]
    folder = twins.java.folder("marked")
    read = twins.java.paimon.read(folder, scan__snapshot_id=str(middle))
    ours = twins.marked.scan(snapshot=middle).to_pylist()
    assert sorted(map(tuple, read.rows)) == sorted(tuple(row.values()) for row in ours)
    twins.java.paimon.history(folder, "create_tag", "x", middle)
    assert rows_of(twins.marked.scan(tag="x")) == rows_of(twins.marked.scan(snapshot=middle))
    every = [rows_of(table.changes(net=True)) for table in (twins.marked, twins.plain)]
    for rows in every:
        for row in rows:
            del row["_commit_version"], row["_commit_timestamp"]
    assert sorted(every[0], key=repr) == sorted(every[1], key=repr)


def test_each_change(twins: Twins, seed: int) -> None:
    """Changes are those of jobs: what a compaction marks changes no row."""
    source = random.Random(seed)
    for number in range(3):
        twins.write(twins.drawn(source, number))
        twins.compact()
    folder = twins.java.folder("marked")
    producer = twins.keyfold.table("marked").options.changelog_producer
    if producer == "lookup":
        theirs = [row[1:] for row in twins.java.paimon.changes(folder)]
        kinds = {"insert": "+I", "delete": "-D"}
        kinds |= {"update_preimage": "-U", "update_postimage": "+U"}
        ours = [
            [kinds[row["_change_type"]], row["p"], row["k"], row["n"], row["v"]]
            for row in twins.marked.changes().to_pylist()
        ]
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs))
        return
    told = [
        [{n: v for n, v in row.items() if n[0] != "_" or n == "_change_type"} for row in found]
        for found in (t.changes().to_pylist() for t in (twins.marked, twins.plain))
    ]
    assert sorted(map(repr, told[0])) == sorted(map(repr, told[1]))


def test_columns_change(paimon: Paimon, tmp_path: Path, seed: int) -> None:
    twins, source = Twins(tmp_path, paimon, {}), random.Random(seed)
    for number, change in enumerate((Change("add", "w", "INT"), Change("rename", "v", "u"), None)):
        rows = twins.drawn(source, number)
        layout = twins.keyfold.table("marked").layout
        names = layout.arrow_schema.names
        twins.write(
            [(kind, dict(zip(names, [*row.values(), 7], strict=False))) for kind, row in rows]
        )
        twins.compact()
        if change is not None:
            for name in ("marked", "plain"):
                twins.java.alter(name, change)
    checked(twins, source)


@pytest.mark.parametrize("number", range(TURNS))
def test_turns(twins: Twins, tmp_path: Path, seed: int, number: int) -> None:
    """Both systems write and compact, by turns: each one's marks are the other's."""
    source, name, marks = random.Random(seed + number), "marked", 0
    layout = twins.keyfold.table(name).layout
    for job in range(JOBS):
        side = source.choice((twins.java, twins.keyfold))
        twins.write(twins.drawn(source, 2 * job), side)
        if source.random() < 0.3:  # two jobs are compacted at once
            twins.write(twins.drawn(source, 2 * job + 1))
        side = source.choice((twins.java, twins.keyfold))
        side.compact(name, full=source.random() < 0.2)
        rows = rows_of(twins.plain.scan())
        assert rows_of(twins.marked.scan()) == rows
        assert rows_of(twins.java.read(layout, name)) == rows
        if side is twins.keyfold:
            marks += sum(f.vector is not None for f in twins.keyfold.table(name).live_files())
    many = [
        {"p": 0, "k": KEYS + 2 * n, "n": JOBS * KEYS * 2, "v": source.random().hex()}
        for n in range(2000)
    ]
    twins.write([(0, row) for row in many])
    twins.keyfold.compact(name, full=True)
    for last, compactor in enumerate((twins.keyfold, twins.java)):  # a few keys of many
        twins.write([(0, {"p": 0, "k": KEYS + 2 * last, "n": JOBS * KEYS * 2, "v": "last"})])
        compactor.compact(name, full=False)
    assert any(file.vector for file in twins.keyfold.table(name).live_files())
    rows = rows_of(twins.plain.scan())
    assert rows_of(twins.java.read(layout, name)) == rows
    for other, read in readers.READERS.items():
        if other != "pypaimon" or not layout.options.keys() & NOT_PYPAIMON:
            assert rows_of(read(tmp_path, f"{NAMESPACE}.{name}")) == rows
    checked(twins, source)


def test_in_sql(
    spark: SparkSession, warehouse: Path, paimon: Paimon, fresh_name: Callable[[], str]
) -> None:
    table = fresh_name()
    folder = warehouse / "it.db" / table.rpartition(".")[2]
    columns = [("k", "INT NOT NULL"), ("v", "BIGINT")]
    fields = [{"id": n, "name": c, "type": t} for n, (c, t) in enumerate(columns)]
    options = {"bucket": "1", "deletion-vectors.enabled": "true"}
    paimon.create(
        folder, {"fields": fields, "partitionKeys": [], "primaryKeys": ["k"], "options": options}
    )
    paimon.write(folder, [["+I", n, n] for n in range(3000)])
    paimon.compact(folder)
    paimon.write(folder, [*(["-D", n, 0] for n in range(9)), *(["+I", n, -n] for n in (50, 60))])
    paimon.compact(folder, full=False)
    paimon.write(folder, [["+I", 7, 7]])
    rows = spark.sql(f"SELECT count(*), min(k), max(v), min(v), sum(k) FROM {table}").first()
    assert tuple(rows) == (2991, 9, 2999, -60, sum(range(9, 3000)))
    assert spark.sql(f"SELECT k FROM {table} WHERE v IN (50, -50, 3)").collect() == [(50,)]
    assert [row.k for row in spark.sql(f"SELECT k FROM {table} ORDER BY k LIMIT 2").collect()] == [
        9,
        10,
    ]
    reader = spark.read.option("deletion-vectors.merge-on-read", "true")
    assert reader.table(table).where("k < 9").collect() == [(7, 7)]
    changes = spark.sql(
        f"SELECT k, v, _change_type FROM {table} CHANGES FROM VERSION 3 TO VERSION 5"
    )
    assert sorted(changes.where("k > 40").collect()) == [
        (50, -50, "insert"),
        (50, 50, "delete"),
        (60, -60, "insert"),
        (60, 60, "delete"),
    ]
    spark.createDataFrame([(7,), (8,), (9,), (60,)], "k INT").createOrReplaceTempView("asked")
    joined = f"SELECT /*+ LOOKUP(t) */ k, v FROM asked LEFT JOIN {table} t USING (k)"
    assert sorted(spark.sql(joined).collect()) == [(7, None), (8, None), (9, 9), (60, -60)]
    stream = spark.readStream.table(table).writeStream.format("memory").queryName("streamed")
    stream.trigger(availableNow=True).start().awaitTermination()
    streamed = {row.k: row.v for row in spark.table("streamed").collect()}
    assert (len(streamed), streamed[7], streamed[60]) == (2992, 7, -60)  # what is committed


def test_statements_in_sql(
    spark: SparkSession, warehouse: Path, paimon: Paimon, fresh_name: Callable[[], str]
) -> None:
    table = fresh_name()
    name = table.removeprefix("keyfold.")
    folder = warehouse / "it.db" / table.rpartition(".")[2]
    create_keyed(spark, table, "k INT, v BIGINT", bucket=1, deletion_vectors__enabled=True)
    spark.sql(f"INSERT INTO {table} SELECT id, id * id * 7919 % 99991 FROM range(3000)")
    wanted = {k: k * k * 7919 % 99991 for k in range(3000)}

    def check() -> None:
        assert {row.k: row.v for row in spark.table(table).collect()} == wanted
        assert spark.table(table).count() == len(wanted)
        assert {row[0]: row[1] for row in paimon.read(folder).rows} == wanted

    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (50, 5)")
    spark.sql(f"UPDATE {table} SET v = v + 1 WHERE k IN (50, 51)")
    spark.sql(f"DELETE FROM {table} WHERE k BETWEEN 100 AND 105")
    assert any(file.vector for file in keyfold.connect(warehouse).table(name)._load().live_files())
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT 51 k, 0 v UNION SELECT 9000, 9) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = t.v * 10 WHEN NOT MATCHED THEN INSERT *"
    )
    wanted |= {1: 1, 50: 6, 51: (wanted[51] + 1) * 10, 9000: 9}
    wanted = {k: v for k, v in wanted.items() if not 100 <= k <= 105}
    check()
    # Without a compaction queries see no new row, but statements that change rows do.
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write-only' = 'true')")
    spark.sql(f"INSERT INTO {table} VALUES (1, 100), (9001, 1)")
    spark.sql(f"UPDATE {table} SET v = v + 1 WHERE k IN (1, 9001)")
    check()
    spark.sql(f"CALL keyfold.sys.compact(table => '{name}', compact_strategy => 'minor')")
    wanted |= {1: 101, 9001: 2}
    check()


def test_branches_and_clones_hold_marks(paimon: Paimon, tmp_path: Path, seed: int) -> None:
    """Removal of orphans leaves what they, tags and older snapshots name."""
    twins, source = Twins(tmp_path, paimon, {}), random.Random(seed)
    folder = twins.java.folder("marked")
    for number in range(9):
        twins.write(twins.drawn(source, number))
        twins.compact()
        if any(file.vector for file in twins.keyfold.table("marked").live_files()):
            break
    then, number = rows_of(twins.marked.scan()), twins.marked.scan().snapshot
    assert any(file.vector for file in twins.keyfold.table("marked").live_files())
    paimon.history(folder, "create_tag", "x", number)
    paimon.history(folder, "create_branch", "b", "x")
    twins.write(twins.drawn(source, 9))
    twins.compact()
    connection = keyfold.connect(str(tmp_path))
    assert rows_of(connection.table(f"{NAMESPACE}.marked$branch_b").scan()) == then
    copied = twins.marked.clone(f"{NAMESPACE}.copied")
    assert rows_of(copied.scan()) == rows_of(twins.marked.scan()) == rows_of(twins.plain.scan())
    remove_orphans(twins.keyfold.table("marked"), time.time(), dry_run=False)
    assert rows_of(connection.table(f"{NAMESPACE}.marked$branch_b").scan()) == then
    assert rows_of(twins.marked.scan(tag="x")) == then
    assert rows_of(twins.marked.scan()) == rows_of(twins.plain.scan())
    paimon.history(folder, "rollback", "x")
    assert rows_of(twins.marked.scan()) == then
