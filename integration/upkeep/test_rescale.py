"""CALL sys.rescale: the same rows for Spark, for Paimon's Java library and for pypaimon, from which
jobs of all go on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from integration.keyed import create_keyed
from integration.paimon import stored
from integration.paimon.bench import Bench
from integration.paimon.library import RefusedByPaimon, row
from integration.paimon.test_other_readers import ours, theirs


def call(spark: SparkSession, table: str, arguments: str) -> Row:
    name = table.removeprefix("keyfold.")
    (found,) = spark.sql(f"CALL keyfold.sys.rescale(table => '{name}', {arguments})").collect()
    return found


def buckets(spark: SparkSession, table: str) -> set[int]:
    folder, _, name = table.rpartition(".")
    rows = spark.sql(f"SELECT bucket FROM {folder}.`{name}$files`").collect()
    return {one.bucket for one in rows}


def test_both_readers_and_writers_go_on(bench: Bench, warehouse: Path) -> None:
    """Partitions, several runs, deletes, a column that was added: rescaled up, then down."""
    bench.create(
        "p STRING, k INT, v STRING, PRIMARY KEY (p, k) NOT ENFORCED",
        partitions="p",
        bucket="2",
        write_only="true",
    )
    bench.insert("SELECT if(id % 3 = 0, 'a', 'b/c'), id, concat('v', id) FROM range(90)")
    bench.insert("SELECT if(id % 3 = 0, 'a', 'b/c'), id, 'later' FROM range(10, 30)")
    bench.spark.sql(f"DELETE FROM {bench.name} WHERE k = 12 OR p = 'a' AND k = 15")
    bench.alter("ADD COLUMN n INT")
    bench.insert("VALUES ('a', 0, 'first', 1), ('d', 100, 'own', 2)")
    held = bench.agree(rows=89)
    answer = call(bench.spark, bench.name, "buckets => 5")
    assert (answer.buckets_before, answer.buckets_after, answer.rows_after) == (2, 5, 89)
    assert answer.snapshot_id == stored.describe(warehouse, bench.name.split(".", 1)[1]).snapshots
    assert sorted(bench.agree(rows=89), key=repr) == sorted(held, key=repr)
    assert theirs(warehouse, bench.name) == ours(bench.spark, bench.name)
    assert set(bench.paimon.read(bench.folder).levels) == {5}
    assert buckets(bench.spark, bench.name) == {0, 1, 2, 3, 4}
    found = bench.spark.sql(f"SELECT v FROM {bench.name} WHERE p = 'b/c' AND k = 44").collect()
    assert [one.v for one in found] == ["v44"]
    bench.insert("VALUES ('a', 0, 'ours', 3), ('e', 1, 'new', 4)")
    bench.paimon.write(
        bench.folder,
        [row("+I", "a", 3, "java", 5), row("-D", "d", 100, None, None), row("+I", "f", 2, "j", 6)],
    )
    assert {(r["p"], r["k"]): r["v"] for r in bench.agree(rows=90)}["a", 3] == "java"
    bench.paimon.compact(bench.folder)
    bench.agree(rows=90)
    assert call(bench.spark, bench.name, "bucket_num => 1").buckets_before == 5
    assert theirs(warehouse, bench.name) == ours(bench.spark, bench.name)
    bench.agree(rows=90)
    assert buckets(bench.spark, bench.name) == {0}


def test_first_row_stays_visible_to_java(bench: Bench) -> None:
    """Paimon's readers pass over level 0 of such tables: what is rescaled lies above."""
    bench.create("k INT, v INT, PRIMARY KEY (k) NOT ENFORCED", merge_engine="first-row")
    bench.insert("SELECT id, 1 FROM range(40)", "SELECT id, 2 FROM range(20, 60)")
    call(bench.spark, bench.name, "buckets => 3")
    assert sum(r["v"] for r in bench.agree(rows=60)) == 40 + 2 * 20


def test_partitions_dropped_are_gone_for_all(bench: Bench, warehouse: Path) -> None:
    bench.create("d DATE, p STRING, k INT, PRIMARY KEY (d, p, k) NOT ENFORCED", partitions="d, p")
    bench.insert(
        "SELECT date_add(DATE '2024-01-01', CAST(id % 3 AS INT)), concat('p', id % 2), id "
        "FROM range(60)"
    )
    bench.alter("DROP PARTITION (d = '2024-01-02', p = 'p1')")
    bench.agree(rows=50)
    bench.alter("DROP PARTITION (p = 'p0')")
    bench.agree(rows=20)
    bench.spark.sql(
        f"INSERT INTO {bench.name} REPLACE WHERE d > DATE '2024-01-02' "
        "SELECT DATE '2024-01-03', 'new', 7"
    )
    bench.agree(rows=11)
    assert theirs(warehouse, bench.name) == ours(bench.spark, bench.name)
    bench.paimon.compact(bench.folder)
    bench.agree(rows=11)


def test_a_schema_that_says_other_buckets_than_the_files(bench: Bench) -> None:
    """As ALTER TABLE of another engine leaves it, or a rescale that was killed: we refuse to write,
    Paimon does where the bucket has files, else keys come into two; a rescale brings them together.
    """
    bench.create("k INT, v INT, PRIMARY KEY (k) NOT ENFORCED", bucket="2")
    bench.insert("SELECT id, id FROM range(10)")
    schema = json.loads((bench.folder / "schema" / "schema-0").read_text())
    schema |= {"id": 1, "options": schema["options"] | {"bucket": "4"}}
    (bench.folder / "schema" / "schema-1").write_text(json.dumps(schema))
    with pytest.raises(AnalysisException, match=r"CALL sys.rescale\(table, 4\)"):
        bench.insert("VALUES (1, 1)")
    bench.agree(rows=10)
    with pytest.raises(RefusedByPaimon, match="the previous bucket num is 2"):
        bench.paimon.write(bench.folder, [row("+I", k, -k) for k in range(10)])
    bench.paimon.write(bench.folder, [row("+I", 1, -1)])
    assert bench.spark.table(bench.name).count() == 11
    call(bench.spark, bench.name, "buckets => 4")
    bench.agree(rows=10)
    bench.insert("VALUES (1, 100)")
    bench.paimon.write(bench.folder, [row("+I", 2, 200)])
    found = {r["k"]: r["v"] for r in bench.agree(rows=10)}
    assert (found[1], found[2]) == (100, 200)


def test_a_job_that_inserts_meanwhile(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    """Whichever commits first, each statement does all or nothing and says so."""
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT")
    spark.sql(f"INSERT INTO {name} SELECT id, 0 FROM range(100)")
    inserted: list[int] = []
    refused: list[str] = []
    stop = threading.Event()

    def insert() -> None:
        for number in range(1000, 1100):
            if stop.is_set():
                return
            try:
                spark.sql(f"INSERT INTO {name} VALUES ({number}, 1)")
            except Exception as error:
                refused.append(str(error))
            else:
                inserted.append(number)

    job = threading.Thread(target=insert)
    job.start()
    try:
        for count in (3, 8, 2, 5):
            try:
                call(spark, name, f"buckets => {count}")
            except AnalysisException as error:
                refused.append(str(error))
    finally:
        stop.set()
        job.join()
    assert all("again" in why or "CALL sys.rescale" in why for why in refused), refused
    call(spark, name, "buckets => 6")
    keys = sorted(one.k for one in spark.table(name).collect())
    assert keys == sorted([*range(100), *inserted])
    assert spark.sql(f"SHOW TBLPROPERTIES {name} ('bucket')").collect()[0].value == "6"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("buckets => 0", "expected a number from 1"),
        ("buckets => NULL", "expected how many buckets"),
    ],
)
def test_refused(
    spark: SparkSession, fresh_name: Callable[[], str], arguments: str, reason: str
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT")
    with pytest.raises(AnalysisException, match=reason):
        call(spark, name, arguments)
