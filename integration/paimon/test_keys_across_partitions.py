"""Keys that are one across partitions, by turns of Spark, Python and Paimon's Java library: all
read the same rows, and no key is in two partitions. Longer by hand: KEYFOLD_TURNS=200.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import keyfold as keyfold_python
from integration.keyed import create_keyed
from integration.paimon.library import Paimon
from integration.paimon.sides import NAMESPACE, Java, Keyfold, Shape

COLUMNS = {"k": "INT", "v": "INT", "p": "STRING"}
HISTORIES = int(os.environ.get("KEYFOLD_TURNS", "1"))
Rows = dict[int, tuple[str, int]]


def written(engine: str, stored: Rows, given: list[tuple[int, int, str]]) -> Rows:
    """The rows after others were written one by one: engines that fold keep the old partition."""
    found = dict(stored)
    for k, v, p in given:
        before = None if engine == "deduplicate" else found.get(k)
        if before is None:
            found[k] = p, v
        else:
            found[k] = before[0], v if engine == "partial-update" else before[1] + v
    return found


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
def test_turns(paimon: Paimon, tmp_path: Path, seed: int, engine: str) -> None:
    ours, java, draw = Keyfold(tmp_path), Java(tmp_path, paimon), random.Random(seed)
    for history in range(HISTORIES):
        name = f"t{history}"
        options = {"bucket": "-1", "dynamic-bucket.target-row-num": str(draw.randint(2, 20))}
        options |= {"merge-engine": engine, "write-only": "true"}
        if engine == "aggregation":
            options["fields.v.aggregate-function"] = "sum"
        draw.choice((java, ours)).create(Shape(name, COLUMNS, ("k",), ("p",), options))
        layout, wanted = ours.table(name).layout, Rows()
        door = keyfold_python.connect(tmp_path).table(f"{NAMESPACE}.{name}")
        for turn in range(8):
            what, keys = draw.random(), draw.sample(range(50), draw.randint(1, 25))
            given = [(k, 100 * turn + k, draw.choice("abc")) for k in keys]
            dicts = [{"k": k, "v": v, "p": p} for k, v, p in given]
            if what < 0.4:
                java.write(layout, name, [(0, row) for row in dicts])
                wanted = written(engine, wanted, given)
            elif what < 0.75:
                door.upsert(dicts)
                wanted = written(engine, wanted, given)
            elif what < 0.85 and engine == "deduplicate":
                gone = dicts[:5]
                if draw.random() < 0.5:
                    java.write(layout, name, [(3, row) for row in gone])
                else:
                    door.delete([{"k": row["k"]} for row in gone])
                wanted = {k: v for k, v in wanted.items() if k not in {r["k"] for r in gone}}
            else:
                draw.choice((java, ours)).compact(name, full=draw.random() < 0.5)
            for reader in (java, ours):
                found = reader.read(layout, name).to_pylist()
                assert len(found) == len({row["k"] for row in found}), (history, turn, reader)
                assert {r["k"]: (r["p"], r["v"]) for r in found} == wanted, (history, turn, reader)


def test_statements(
    spark: SparkSession,
    paimon: Paimon,
    warehouse: Path,
    fresh_name: Callable[[], str],
    tmp_path: Path,
) -> None:
    table, source = fresh_name(), fresh_name()
    create_keyed(spark, table, "k INT, v INT, p STRING", by="p", dynamic_bucket__target_row_num=20)
    folder = warehouse / "it.db" / table.split(".")[-1]
    wanted: Rows = {}

    def check() -> None:
        found = [(row.k, row.p, row.v) for row in spark.table(table).collect()]
        assert sorted(found) == sorted((k, *row) for k, row in wanted.items())

    spark.sql(f"INSERT INTO {table} SELECT id, 0, 'a' FROM range(60)")
    spark.sql(f"INSERT INTO {table} SELECT id, 1, if(id % 2 = 0, 'b', 'a') FROM range(40, 80)")
    wanted = dict.fromkeys(range(40), ("a", 0))
    wanted |= {k: ("a" if k % 2 else "b", 1) for k in range(40, 80)}
    check()
    spark.sql(f"UPDATE {table} SET p = 'c', v = 2 WHERE k % 10 = 0")
    spark.sql(f"DELETE FROM {table} WHERE k > 70")
    wanted |= dict.fromkeys(range(0, 80, 10), ("c", 2))
    wanted = {k: row for k, row in wanted.items() if k <= 70}
    check()
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT CAST(id AS INT) k FROM range(50, 90)) s ON t.k = s.k "
        "WHEN MATCHED AND s.k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET p = 'd' "
        "WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, 9, 'e')"
    )
    for k in range(50, 90):
        if k in wanted and k % 2 == 0:
            del wanted[k]
        else:
            wanted[k] = ("d", wanted[k][1]) if k in wanted else ("e", 9)
    paimon.write(folder, [["+I", k, 11, "a"] for k in range(80, 100)])
    wanted |= dict.fromkeys(range(80, 100), ("a", 11))
    check()
    create_keyed(spark, source, "k INT, v INT, p STRING")
    spark.sql(f"INSERT INTO {source} SELECT id, 5, 'f' FROM range(5, 25)")
    query = (
        spark.readStream.table(source)
        .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .toTable(table)
    )
    query.awaitTermination()
    wanted |= dict.fromkeys(range(5, 25), ("f", 5))
    check()
    assert {row[0]: (row[2], row[1]) for row in paimon.read(folder).rows} == wanted
