"""Dynamic buckets by turns of Spark, Python and Paimon's Java library: all read the same rows, and
no key is in two buckets. Longer by hand: KEYFOLD_TURNS=200.
"""

import datetime as dt
import os
import random
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

import keyfold as keyfold_python
from integration.keyed import create_keyed
from integration.paimon.library import Paimon
from integration.paimon.sides import Java, Keyfold, Shape
from keyfold.testing.tables import Record
from tests.write.buckets import check_once

COLUMNS = {"k": "INT", "v": "STRING", "p": "DATE"}
HISTORIES = int(os.environ.get("KEYFOLD_TURNS", "2"))


def rows(draw: random.Random, text: str) -> list[Record]:
    """Rows of some keys, each in a partition of its own, of which some are deletes."""
    day, keys = dt.date(2024, 1, 1), draw.sample(range(60), draw.randint(1, 30))
    return [
        (
            3 if draw.random() < 0.1 else 0,
            {"k": k, "v": f"{text}{k}", "p": day + dt.timedelta(k % 2)},
        )
        for k in keys
    ]


def test_turns(paimon: Paimon, tmp_path: Path, seed: int) -> None:
    ours, draw = Keyfold(tmp_path), random.Random(seed)
    java = Java(tmp_path, paimon)
    for history in range(HISTORIES):
        name, most = f"t{history}", draw.choice(("-1", "2"))
        options = {"bucket": "-1", "dynamic-bucket.target-row-num": str(draw.randint(2, 20))}
        options |= {"dynamic-bucket.max-buckets": most, "write-only": "true"}
        draw.choice((java, ours)).create(Shape(name, COLUMNS, ("p", "k"), ("p",), options))
        layout, wanted = ours.table(name).layout, {}
        for turn in range(8):
            side, what = draw.choice((java, ours)), draw.random()
            if what < 0.8:
                given = rows(draw, f"{turn}-")
                if side is ours:  # which deletes by statements: see below
                    given = [(0, row) for _, row in given]
                side.write(layout, name, given)
                for kind, row in given:
                    wanted.pop(row["k"], None)
                    wanted |= {} if kind == 3 else {row["k"]: row["v"]}
            else:
                side.compact(name, full=draw.random() < 0.5)
            for reader in (java, ours):
                found = reader.read(layout, name).to_pylist()
                assert {row["k"]: row["v"] for row in found} == wanted, (history, turn)
                assert len(found) == len(wanted)
            check_once(ours.table(name))


def test_statements(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    table = fresh_name()
    name = table.split(".")[-1]
    create_keyed(spark, table, "k INT, v INT", bucket="-1", dynamic_bucket__target_row_num=20)
    folder = warehouse / "it.db" / name
    ours = keyfold_python.connect(warehouse).table(f"it.{name}")
    wanted: dict[int, int] = {}

    def check() -> None:
        assert {row.k: row.v for row in spark.table(table).collect()} == wanted
        assert spark.table(table).count() == len(wanted)
        assert {row[0]: row[1] for row in paimon.read(folder).rows} == wanted
        check_once(ours._load())

    for step in range(2):
        spark.sql(
            f"INSERT INTO {table} SELECT id, {step} FROM range({40 * step}, {100 + 50 * step})"
        )
        wanted |= dict.fromkeys(range(40 * step, 100 + 50 * step), step)
        check()
    spark.sql(f"UPDATE {table} SET v = 7 WHERE k % 3 = 0")
    wanted |= {k: 7 for k in wanted if k % 3 == 0}
    spark.sql(f"DELETE FROM {table} WHERE k > 120")
    wanted = {k: v for k, v in wanted.items() if k <= 120}
    check()
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT CAST(id AS INT) k FROM range(90, 160)) s ON t.k = s.k "
        "WHEN MATCHED AND s.k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -1 "
        "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 9)"
    )
    for k in range(90, 160):
        if k in wanted and k % 2 == 0:
            del wanted[k]
        else:
            wanted[k] = -1 if k in wanted else 9
    check()
    paimon.write(folder, [["+I", k, 11] for k in range(150, 220)])
    wanted |= dict.fromkeys(range(150, 220), 11)
    check()
    spark.sql(f"CALL keyfold.sys.compact(table => '{table.removeprefix('keyfold.')}')")
    ours.upsert([{"k": k, "v": 12} for k in range(200, 260)])
    wanted |= dict.fromkeys(range(200, 260), 12)
    check()
    spark.sql(f"INSERT OVERWRITE {table} SELECT id, 1 FROM range(50, 10, -1)")
    wanted = dict.fromkeys(range(11, 51), 1)
    check()


def test_streams(spark: SparkSession, fresh_name: Callable[[], str], tmp_path: Path) -> None:
    source, table = fresh_name(), fresh_name()
    create_keyed(spark, source, "k INT, v INT")
    create_keyed(spark, table, "k INT, v INT", bucket="-1", dynamic_bucket__target_row_num=10)
    query = (
        spark.readStream.table(source)
        .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .toTable(table)
    )
    try:
        for step in range(3):
            spark.sql(f"INSERT INTO {source} SELECT id, {step} FROM range({60 + 30 * step})")
            query.processAllAvailable()
    finally:
        query.stop()
    assert {row.k: row.v for row in spark.table(table).collect()} == dict.fromkeys(range(120), 2)
    name = table.split(".")[-1]
    location = Path(
        spark.sql(f"DESCRIBE EXTENDED {table}").where("col_name = 'Location'").first()[1]
    )
    check_once(keyfold_python.connect(location.parent.parent).table(f"it.{name}")._load())
