"""Queries that name fields of nested columns: nothing else of them is read."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import plan_of
from integration.planning.test_pushdown import rows_of
from integration.sessions import conf

PRUNING = "spark.sql.optimizer.nestedSchemaPruning.enabled"
NESTED = "STRUCT<x: INT, y: STRING, z: STRUCT<u: INT, v: STRING>>"
COLUMNS = f"id INT, s {NESTED}, l ARRAY<{NESTED}>, m MAP<INT, {NESTED}>, w MAP<{NESTED}, {NESTED}>"
WHOLE = "named_struct('x', 1, 'y', 'b', 'z', named_struct('u', 2, 'v', 'c'))"
ENGINES = {
    "deduplicate": "",
    "first-row": "",
    "partial-update": "",
    "aggregation": ", 'fields.s.aggregate-function' = 'last_value'",
}
QUERIES = [
    "SELECT id, s.x FROM {t}",
    "SELECT s.z.u FROM {t} WHERE s.y > 'c'",
    "SELECT id FROM {t} WHERE s IS NULL",
    "SELECT id, s.z FROM {t} WHERE s.z IS NOT NULL AND id > 20",
    "SELECT l.x, m[1].z.u, s.y FROM {t}",
    "SELECT id, x.z.v FROM {t} LATERAL VIEW explode(l) AS x",
    "SELECT map_keys(m), s.x FROM {t}",
    "SELECT map_keys(w).x FROM {t}",
    "SELECT map_values(w).z.u, map_keys(w).z.v FROM {t}",
    "SELECT s.x, sum(s.z.u), count(*) FROM {t} GROUP BY s.x",
    "SELECT _bucket, s.x FROM {t} WHERE id < 20",
    "SELECT /*+ LOOKUP(r) */ o.id, r.s.x, r.l.y FROM range(40) AS o JOIN {t} AS r ON o.id = r.id",
    "SELECT s.x, s FROM {t} ORDER BY id LIMIT 5",
]


def struct(draw: random.Random) -> str:
    def some(text: str) -> str:
        return text if draw.random() < 0.8 else "NULL"

    inner = f"named_struct('u', {some(str(draw.randrange(9)))}, 'v', {some(repr('v' * 9))})"
    x, y = draw.randrange(9), draw.choice("abcdef") * 5
    return some(f"named_struct('x', {some(str(x))}, 'y', {some(repr(y))}, 'z', {some(inner)})")


@pytest.fixture(scope="module", params=list(ENGINES))
def table(spark: SparkSession, request: pytest.FixtureRequest, seed: int) -> str:
    draw = random.Random(f"{seed} {request.param}")
    name = f"keyfold.it.nested_{request.param.replace('-', '_')}"
    spark.sql(
        f"CREATE TABLE {name} ({COLUMNS}, PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES "
        f"('bucket' = '2', 'merge-engine' = '{request.param}'{ENGINES[request.param]})"
    )
    for _ in range(3):
        rows = [
            f"({key}, {struct(draw)}, array({', '.join(struct(draw) for _ in range(2))}), "
            f"map(1, {struct(draw)}), map(coalesce({struct(draw)}, {WHOLE}), {struct(draw)}))"
            for key in draw.sample(range(60), 30)
        ]
        spark.sql(f"INSERT INTO {name} VALUES {', '.join(rows)}")
    return name


def read_schema(spark: SparkSession, frame: DataFrame) -> str:
    """The columns of the only scan, as it reads them."""
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    scans = [leaves.apply(place) for place in range(leaves.size())]
    (found,) = (
        one.scan() for one in scans if "DataSourceV2ScanRelation" in one.getClass().getName()
    )
    return str(found.readSchema().sql())


def both(spark: SparkSession, query: str) -> tuple[DataFrame, list[Any]]:
    """The query, and its rows where Spark asks for whole columns."""
    found = spark.sql(query)
    plan_of(found)
    with conf(spark, **{PRUNING: False}):
        return found, rows_of(spark.sql(query))


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_the_same(spark: SparkSession, table: str, query: str) -> None:
    found, whole = both(spark, query.format(t=table))
    assert whole
    assert rows_of(found) == whole


def test_only_what_is_named_is_read(spark: SparkSession, table: str) -> None:
    found = spark.sql(f"SELECT s.z.u, l.x FROM {table} WHERE s.x > 1")
    assert read_schema(spark, found) == (
        "STRUCT<s: STRUCT<x: INT, z: STRUCT<u: INT>>, l: ARRAY<STRUCT<x: INT>>>"
    )


def test_changes_of_rows(spark: SparkSession, table: str) -> None:
    """DELETE and MERGE look at fields too."""
    if "first_row" in table:
        return
    left = f"SELECT id FROM {table} WHERE NOT coalesce(s.z.u < 4, false)"
    expected = rows_of(spark.sql(left))
    spark.sql(f"DELETE FROM {table} WHERE s.z.u < 4")
    assert rows_of(spark.sql(f"SELECT id FROM {table}")) == expected
    marked = rows_of(spark.sql(f"SELECT id FROM {table} WHERE s.x = 2"))
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT id FROM range(60)) o ON t.id = o.id "
        "WHEN MATCHED AND t.s.x = 2 THEN UPDATE SET l = NULL"
    )
    changed = spark.sql(f"SELECT id FROM {table} WHERE s.x = 2 AND l IS NULL")
    assert rows_of(changed) == marked


def test_a_function_of_values_has_whole_columns(spark: SparkSession) -> None:
    name = "keyfold.it.nested_collected"
    create_keyed(
        spark,
        name,
        "id INT, l ARRAY<STRUCT<x: INT, y: INT>>",
        key="id",
        merge_engine="aggregation",
        fields__l__distinct=True,
        folds={"l": "collect"},
    )
    for y in (1, 2, 1):
        spark.sql(f"INSERT INTO {name} VALUES (1, array(named_struct('x', 1, 'y', {y})))")
    found = spark.sql(f"SELECT l.x FROM {name}")
    assert found.collect() == [([1, 1],)]
    assert read_schema(spark, found) == "STRUCT<l: ARRAY<STRUCT<x: INT, y: INT>>>"
