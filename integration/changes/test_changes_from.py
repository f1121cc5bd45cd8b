"""`t CHANGES FROM …`, its DataFrame form, `t$audit_log`, `t$binlog` and Paimon's options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed

T = "keyfold.it.changes_t"
SNAPSHOTS, AUDIT_LOG, BINLOG = (
    f"keyfold.it.`changes_t${view}`" for view in ("snapshots", "audit_log", "binlog")
)


@pytest.fixture(scope="module", autouse=True)
def table(spark: SparkSession) -> Iterator[None]:
    """Five snapshots: rows come, change, stay as they are, are compacted, and go."""
    create_keyed(spark, T, "id INT, v STRING, n INT", key="id", bucket=2, write_only=True)
    spark.sql(f"INSERT INTO {T} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
    spark.sql(f"INSERT INTO {T} VALUES (1, 'a', 1), (2, 'B', 2), (4, 'd', 4)")
    spark.sql(f"CALL keyfold.sys.compact('{T}')")
    spark.sql(f"DELETE FROM {T} WHERE id = 3")
    spark.sql(f"INSERT INTO {T} VALUES (2, 'b', 2)")
    for number in (2, 4):
        arguments = f"table => '{T}', tag => 'changes-{number}', snapshot => {number}"
        spark.sql(f"CALL keyfold.sys.create_tag({arguments})")
    yield
    spark.sql(f"DROP TABLE {T}")


CHANGES = [
    (1, "insert", 1, "a"),
    (1, "insert", 2, "b"),
    (1, "insert", 3, "c"),
    (2, "insert", 4, "d"),
    (2, "update_postimage", 2, "B"),
    (2, "update_preimage", 2, "b"),
    (4, "delete", 3, "c"),
    (5, "update_postimage", 2, "b"),
    (5, "update_preimage", 2, "B"),
]
UPDATES = "WITH ('computeUpdates' = 'true')"


def found(frame: DataFrame) -> list[tuple[object, ...]]:
    rows = frame.select("_commit_version", "_change_type", "id", "v").collect()
    return sorted(tuple(row) for row in rows)


def asked(spark: SparkSession, clause: str, where: str = "true") -> list[tuple[object, ...]]:
    return found(spark.sql(f"SELECT * FROM {T} CHANGES {clause} WHERE {where}"))


@pytest.mark.parametrize(
    ("clause", "first", "last"),
    [
        ("FROM VERSION 1", 1, 5),
        ("FROM VERSION 2 TO VERSION 4", 2, 4),
        ("FROM VERSION 1 EXCLUSIVE TO VERSION 5 EXCLUSIVE", 2, 4),
        ("FROM VERSION 3 TO VERSION 3", 6, 6),
        ("FROM VERSION 'changes-2' TO VERSION 4 EXCLUSIVE", 2, 3),
        ("FROM VERSION 'changes-2' EXCLUSIVE TO VERSION 'changes-4'", 3, 4),
    ],
)
def test_versions(spark: SparkSession, clause: str, first: int, last: int) -> None:
    expected = [change for change in CHANGES if first <= change[0] <= last]
    assert asked(spark, f"{clause} {UPDATES}") == expected
    plain = {"update_preimage": "delete", "update_postimage": "insert"}
    rows = sorted((n, plain.get(word, word), *rest) for n, word, *rest in expected)
    assert asked(spark, clause) == rows


def test_modes(spark: SparkSession) -> None:
    """No mode shows rows that are as they were; without updates each is a delete and an insert."""
    expected = [change for change in CHANGES if change[0] >= 2]
    for mode in ("none", "dropCarryovers"):
        both = f"WITH ('deduplicationMode' = '{mode}', 'computeUpdates' = 'true')"
        assert asked(spark, f"FROM VERSION 2 {both}") == expected, mode
    net = "WITH ('deduplicationMode' = 'netChanges')"
    assert asked(spark, f"FROM VERSION 1 TO VERSION 4 {net}") == [
        (2, "insert", 1, "a"),
        (2, "insert", 2, "B"),
        (2, "insert", 4, "d"),
    ], "the last commit that wrote each key"
    assert [row[1:] for row in asked(spark, f"FROM VERSION 2 TO VERSION 2 {net}")] == [
        ("delete", 2, "b"),
        ("insert", 2, "B"),
        ("insert", 4, "d"),
    ]
    with pytest.raises(Exception, match=r"(?i)deduplication"):
        asked(spark, "FROM VERSION 1 WITH ('deduplicationMode' = 'some')")


def test_net_changes(spark: SparkSession) -> None:
    net = "WITH ('deduplicationMode' = 'netChanges', 'computeUpdates' = 'true')"
    rows = asked(spark, f"FROM VERSION 2 {net}")
    assert sorted(row[1:] for row in rows) == [("delete", 3, "c"), ("insert", 4, "d")]


def test_times(spark: SparkSession) -> None:
    committed = spark.sql(f"SELECT snapshot_id, commit_time FROM {SNAPSHOTS}").collect()
    times = {number: time.isoformat(" ") for number, time in committed}
    clause = f"FROM TIMESTAMP '{times[2]}' EXCLUSIVE TO TIMESTAMP '{times[4]}' {UPDATES}"
    assert asked(spark, clause) == [change for change in CHANGES if 3 <= change[0] <= 4]
    shown = spark.sql(f"SELECT DISTINCT _commit_timestamp FROM {T} CHANGES FROM VERSION 5")
    assert [row[0].isoformat(" ") for row in shown.collect()] == [times[5]]


def test_data_frames(spark: SparkSession) -> None:
    reader = spark.read.option("startingVersion", "2").option("endingVersion", "4")
    assert found(reader.option("computeUpdates", "true").changes(T)) == [
        change for change in CHANGES if 2 <= change[0] <= 4
    ]


@pytest.mark.parametrize(
    ("where", "keep"),
    [
        ("id = 2", lambda change: change[2] == 2),
        ("id IN (3, 4) AND v = 'c'", lambda change: change[3] == "c"),
        ("_commit_version > 3", lambda change: change[0] > 3),
        ("_commit_version = 2 AND v = 'B'", lambda change: change[0] == 2 and change[3] == "B"),
        ("_change_type = 'delete'", lambda change: change[1] == "delete"),
        ("n = 3 OR _commit_version = 2", lambda change: change[0] == 2 or change[3] == "c"),
    ],
)
def test_conditions(spark: SparkSession, where: str, keep: Callable[[Any], bool]) -> None:
    rows = asked(spark, f"FROM VERSION 1 {UPDATES}", where)
    assert rows == [change for change in CHANGES if keep(change)]


def test_a_plan_leaves_out_keys_columns_and_snapshots(spark: SparkSession) -> None:
    query = f"SELECT id FROM {T} CHANGES FROM VERSION 1 WHERE id = 2 AND _commit_version > 3"
    text = spark.sql(f"EXPLAIN {query}").first()[0]
    assert "2 to compare" in text
    assert "pushed: id = 2" in text
    assert spark.sql(f"SELECT count(*) FROM {T} CHANGES FROM VERSION 1").first()[0] == len(CHANGES)
    assert len(spark.sql(f"SELECT id FROM {T} CHANGES FROM VERSION 1 LIMIT 2").collect()) == 2


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("FROM VERSION 9", "snapshot 9 .* does not exist: there are 1 to 5"),
        ("FROM VERSION 'none'", "has no version 'none'"),
        ("FROM VERSION 4 TO VERSION 2", "before it starts"),
    ],
)
def test_refused(spark: SparkSession, clause: str, told: str) -> None:
    with pytest.raises(PySparkException, match=told):
        asked(spark, clause)


def test_audit_log(spark: SparkSession) -> None:
    rows = spark.table(AUDIT_LOG)
    assert rows.columns == ["rowkind", "id", "v", "n"]
    assert sorted(rows.collect()) == [("+I", 1, "a", 1), ("+I", 2, "b", 2), ("+I", 4, "d", 4)]
    between = spark.read.option("incremental-between", "1,4").table(AUDIT_LOG)
    assert sorted(between.where("id <> 4").collect()) == [
        ("+U", 2, "B", 2),
        ("-D", 3, "c", 3),
        ("-U", 2, "b", 2),
    ]
    whole = spark.sql(f"SELECT rowkind, id FROM {AUDIT_LOG} WITH (`incremental-between` = '0,1')")
    assert sorted(whole.collect()) == [("+I", 1), ("+I", 2), ("+I", 3)]


def test_binlog(spark: SparkSession) -> None:
    between = spark.read.option("incremental-between", "1,4").table(BINLOG)
    assert between.columns == ["rowkind", "id", "v", "n"]
    assert sorted(between.select("rowkind", "id", "v").collect()) == [
        ("+I", [4], ["d"]),
        ("+U", [2, 2], ["b", "B"]),
        ("-D", [3], ["c"]),
    ]
    assert between.where("id[0] = 2").count() == 1


def test_ranges_by_tags(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    between = spark.read.option("incremental-between", "changes-2,changes-4").table(AUDIT_LOG)
    assert [tuple(row) for row in between.collect()] == [("-D", 3, "c", 3)]
    name = fresh_name()
    create_keyed(spark, name, "id INT", key="id", tag__automatic_creation="process-time")
    for number in (1, 2, 3):
        spark.sql(f"INSERT INTO {name} VALUES ({number})")
        arguments = f"table => '{name}', tag => '2001-01-0{number}', snapshot => {number}"
        spark.sql(f"CALL keyfold.sys.create_tag({arguments})")
    for tag, rows in (("2001-01-01", []), ("2001-01-02", [2]), ("2001-01-03", [3])):
        until = spark.read.option("incremental-to-auto-tag", tag)
        assert [row.id for row in until.table(name).collect()] == rows
    with pytest.raises(PySparkException, match="is no automatic tag"):
        spark.read.option("incremental-to-auto-tag", "new").table(name).collect()


def test_rows_that_changed(spark: SparkSession) -> None:
    rows = spark.read.option("incremental-between", "1,5").table(T)
    assert [tuple(row) for row in rows.collect()] == [(4, "d", 4)]
    rows = spark.read.option("incremental-between", "1,4").table(T)
    assert sorted(rows.select("v", "id").collect()) == [("B", 2), ("d", 4)]
    both = {"incremental-between": "1,2", "startingVersion": "1"}
    for view in (T, AUDIT_LOG):
        with pytest.raises(PySparkException, match="startingVersion is unknown"):
            spark.read.options(**both).table(view).collect()
    rows = spark.read.option("incremental-between-scan-mode", "delta").table(T)
    with pytest.raises(PySparkException, match="incremental-between-scan-mode = 'delta'"):
        rows.collect()
