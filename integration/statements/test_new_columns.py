"""Writes whose columns, or fields inside them, are not those of the table: WITH SCHEMA EVOLUTION
adds and widens them, under every engine; without it a write is refused, says how it could be done,
and stores nothing. No field is dropped or filled up with NULL.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import keyfold
from integration.keyed import create_keyed
from integration.streams.sinks import drained

FreshName = Callable[[], str]
ENGINES = ("deduplicate", "partial-update", "aggregation")
EVOLVE = "INSERT WITH SCHEMA EVOLUTION INTO {} BY NAME SELECT "
NESTED = (
    "k INT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, STRUCT<a: INT>>"
)


def make(
    spark: SparkSession, name: str, columns: str = "k INT, v INT", engine: str = "deduplicate"
) -> str:
    create_keyed(spark, name, columns, merge_engine=engine)
    return name


def rows(spark: SparkSession, name: str) -> list[dict[str, object]]:
    return [row.asDict() for row in spark.table(name).orderBy("k").collect()]


@pytest.mark.parametrize("engine", ENGINES)
def test_evolution_by_name(spark: SparkSession, fresh_name: FreshName, engine: str) -> None:
    name, keeps = make(spark, fresh_name(), engine=engine), engine != "deduplicate"
    evolve = EVOLVE.format(name)
    spark.sql(f"{evolve} 1 AS k, 2 AS v, 3 AS q")
    spark.sql(f"{evolve} 1 AS k, 4 AS w")
    kept = {"v": 2, "q": 3} if keeps else {"v": None, "q": None}
    assert rows(spark, name) == [{"k": 1, **kept, "w": 4}]
    spark.sql(evolve.replace("INTO", "OVERWRITE") + "1 AS K, 5 AS x")
    assert rows(spark, name) == [{"k": 1, "v": None, "q": None, "w": None, "x": 5}]
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {name} SELECT 1, 2, 3, 4, 5, 6 AS y")
    assert rows(spark, name) == [{"k": 1, "v": 2, "q": 3, "w": 4, "x": 5, "y": 6}]


def test_evolution_is_that_of_deduplicate(spark: SparkSession, fresh_name: FreshName) -> None:
    """Every key is written once, so that no engine has anything to fold."""
    names = [make(spark, fresh_name(), engine=engine) for engine in ENGINES]
    columns = ["v"]
    for key in range(6):
        named = random.sample(columns, random.randint(0, len(columns)))
        if random.random() < 0.7:
            columns.append(f"c{key}")
            named.insert(random.randint(0, len(named)), f"c{key}")
        values = [f"{random.randint(0, 9)} AS {column}" for column in named]
        values.insert(random.randint(0, len(values)), f"{key} AS k")
        for name in names:
            spark.sql(EVOLVE.format(name) + ", ".join(values))
    first, *others = (rows(spark, name) for name in names)
    assert len(first) == 6
    assert all(found == first for found in others)


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_refused_evolution(spark: SparkSession, fresh_name: FreshName, engine: str) -> None:
    name = make(spark, fresh_name(), engine=engine)
    with pytest.raises(keyfold.TableError, match="must contain the primary key"):
        spark.sql(EVOLVE.format(name) + "1 AS v, 2 AS q")
    assert spark.table(name).columns == ["k", "v"]


def test_columns_that_a_table_lacks(
    spark: SparkSession, fresh_name: FreshName, warehouse: Path, tmp_path: Path
) -> None:
    name = make(spark, fresh_name())
    path = f"{warehouse}/it.db/{name.split('.')[2]}"
    frame = spark.sql("SELECT 1 AS k, 2 AS v, 3 AS more")
    frame.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    writes: list[Callable[[], object]] = [
        lambda: spark.sql(f"INSERT INTO {name} BY NAME SELECT 1 AS k, 2 AS v, 3 AS more"),
        lambda: spark.sql(f"INSERT INTO {name} SELECT 1, 2, 3 AS more"),
        lambda: spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM (SELECT 1, 2, 3 AS more)"),
        lambda: frame.writeTo(name).append(),
        lambda: frame.writeTo(name).option("mergeSchema", "false").append(),
        lambda: frame.writeTo(name).overwritePartitions(),
        lambda: frame.write.mode("append").saveAsTable(name),
        lambda: frame.write.insertInto(name),
        lambda: frame.write.format("keyfold").mode("append").save(path),
        lambda: drained(stream, name, tmp_path / "checkpoint"),
        lambda: drained(stream, path, tmp_path / "of_path"),
    ]
    words = "has no column more, only k, v: .*(mergeSchema|WITH SCHEMA EVOLUTION)"
    for write in writes:
        with pytest.raises(Exception, match=words):
            write()
    assert rows(spark, name) == []


def test_writers_that_add_columns(
    spark: SparkSession, fresh_name: FreshName, warehouse: Path
) -> None:
    """The option of a writer does as WITH SCHEMA EVOLUTION does: columns, fields and types."""
    name = fresh_name()
    create_keyed(spark, name, NESTED)
    path = f"{warehouse}/it.db/{name.split('.')[2]}"
    spark.sql(f"INSERT INTO {name} (k, s) VALUES (0, named_struct('a', 1, 'b', 'x'))")
    how = {"mergeSchema": "true"}

    def frame(key: int, *columns: str) -> DataFrame:
        return spark.sql(f"SELECT {', '.join([f'{key} AS k', *columns])}")

    wide = "named_struct('a', 1L << 40, 'b', 'y', 'c', 5) AS s"
    frame(1, wide, "2 AS one").writeTo(name).options(**how).append()
    frame(2, "3 AS two").write.options(**how).mode("append").saveAsTable(name)
    frame(3, "4 AS three").write.format("keyfold").options(**how).mode("append").save(path)
    frame(4, "NULL", "NULL", "NULL", "1", "2", "3", "5 AS four").write.options(**how).insertInto(
        name
    )
    spark.sql(f"INSERT INTO {name} WITH ('mergeSchema' = 'true') BY NAME SELECT 5 AS k, 6 AS five")
    frame(1, "7 AS six").writeTo(name).options(**how).append()
    found = {row["k"]: row.asDict(recursive=True) for row in spark.table(name).collect()}
    assert list(found[0]) == [*"kslm", "one", "two", "three", "four", "five", "six"]
    assert found[0]["s"] == {"a": 1, "b": "x", "c": None}
    assert {k: row["three"] for k, row in found.items() if row["three"]} == {3: 4, 4: 3}
    assert (found[2]["two"], found[4]["four"], found[5]["five"], found[1]["six"]) == (3, 5, 6, 7)
    with pytest.raises(keyfold.TableError, match=r"mergeSchema .* true or false, found 'x'"):
        frame(1, "1 AS v").writeTo(name).option("mergeSchema", "x").append()


def test_writers_that_add_one_column_at_once(spark: SparkSession, fresh_name: FreshName) -> None:
    name = make(spark, fresh_name())
    with ThreadPoolExecutor(4) as pool:
        for turn in range(2):

            def write(key: int, turn: int = turn) -> None:
                frame = spark.sql(f"SELECT {key} AS k, {key} AS more{turn}")
                frame.writeTo(name).option("mergeSchema", "true").append()

            list(pool.map(write, range(4)))
    found = {row["k"]: (row["more0"], row["more1"]) for row in rows(spark, name)}
    assert found == {key: (None, key) for key in range(4)}


def test_columns_behind_those_of_a_partition(spark: SparkSession, fresh_name: FreshName) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT, v INT, p STRING", key="k, p", by="p")
    spark.sql(f"INSERT INTO {name} PARTITION (p = 'x') SELECT 1, 2")
    with pytest.raises(keyfold.TableError, match="has no column more"):
        spark.sql(f"INSERT INTO {name} PARTITION (p = 'x') SELECT 1, 2, 3 AS more")
    assert rows(spark, name) == [{"k": 1, "v": 2, "p": "x"}]


WRITES = ("append", "saveAsTable", "by name", "stream", "merge", "evolve")


def write(spark: SparkSession, frame: DataFrame, name: str, how: str, folder: Path) -> None:
    frame.createOrReplaceTempView("written")
    match how:
        case "append":
            frame.writeTo(name).append()
        case "saveAsTable":
            frame.write.mode("append").saveAsTable(name)
        case "by name":
            spark.sql(f"INSERT INTO {name} BY NAME SELECT * FROM written")
        case "merge":
            spark.sql(
                f"MERGE INTO {name} t USING written w ON t.k = w.k "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )
        case "evolve":
            spark.sql(EVOLVE.format(name) + "* FROM written")
        case "stream":
            frame.write.mode("overwrite").parquet(str(folder / "in"))
            source = spark.readStream.schema(frame.schema).parquet(str(folder / "in"))
            drained(source, name, folder / "checkpoint")


@pytest.mark.parametrize("how", WRITES)
def test_nested_fields_go_by_name(
    spark: SparkSession, fresh_name: FreshName, tmp_path: Path, how: str
) -> None:
    """In any letter case and order; one that is missing or too many refuses the write."""
    name = make(spark, fresh_name(), NESTED)
    inner = "array(named_struct('A', 8)) AS L, map('x', named_struct('A', 9)) AS m"
    good = spark.sql(f"SELECT 1 AS K, named_struct('B', 'y', 'A', 7) AS s, {inner}")
    write(spark, good, name, how, tmp_path / "good")
    found = spark.sql(f"SELECT k, s.a, s.b, l[0].a, m['x'].a FROM {name}").collect()
    assert [tuple(row) for row in found] == [(1, 7, "y", 8, 9)]
    for struct, element in (
        ("named_struct('a', 1)", "named_struct('a', 1)"),
        ("named_struct('a', 1, 'b', 'x')", "named_struct('z', 1)"),
        ("named_struct('a', 1, 'b', 'x', 'c', 2)", "named_struct('a', 1)"),
        ("named_struct('a', 1, 'b', 'x')", "named_struct('a', 1, 'c', 2)"),
    ):
        lists = f"array({element}) AS l, map('x', named_struct('a', 9)) AS m"
        bad, name = (
            spark.sql(f"SELECT 2 AS k, {struct} AS s, {lists}"),
            make(spark, fresh_name(), NESTED),
        )
        if how == "evolve" and "'c'" in struct + element:
            write(spark, bad, name, how, tmp_path)
            row = spark.table(name).first().asDict(recursive=True)
            assert 2 in (row["s"].get("c"), row["l"][0].get("c"))
        else:
            folder = tmp_path / name
            refusal = StreamingQueryException if how == "stream" else AnalysisException
            with pytest.raises(refusal, match="INCOMPATIBLE_DATA_FOR_TABLE"):
                write(spark, bad, name, how, folder)
            assert rows(spark, name) == []


def test_a_table_stays_in_its_catalog(spark: SparkSession, fresh_name: FreshName) -> None:
    name = make(spark, fresh_name())
    for to in ("lake.n.b", "spark_catalog.default.b"):
        with pytest.raises(keyfold.TableError, match=f"can't become {to}: a rename leaves it in"):
            spark.sql(f"ALTER TABLE {name} RENAME TO {to}")
    spark.sql(f"ALTER TABLE {name} RENAME TO keyfold.it.{name.split('.')[2]}_b")
    assert rows(spark, f"{name}_b") == []


def test_evolution_widens_nested_numbers(spark: SparkSession, fresh_name: FreshName) -> None:
    name, large = make(spark, fresh_name(), NESTED), 2**40
    values = "1 AS k, named_struct('a', {0}, 'b', 'x') AS s, array(named_struct('a', {0})) AS l, "
    values += "map('x', named_struct('a', {0})) AS m"
    spark.sql(EVOLVE.format(name) + values.format("1"))
    spark.sql(EVOLVE.format(name) + values.format(f"{large}L"))
    found = spark.sql(f"SELECT s.a, l[0].a, m['x'].a FROM {name}").first()
    assert tuple(found) == (large, large, large)
    with pytest.raises(Exception, match="BIGINT to DOUBLE"):
        spark.sql(EVOLVE.format(name) + values.format("1.5D"))
