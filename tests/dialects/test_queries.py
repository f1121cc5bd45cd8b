"""Queries and INSERTs in Flink's words."""

import pytest

from keyfold.dialects import translate

ROWS = "ARRAY<ROW<id BIGINT, `name` STRING>>"


@pytest.mark.parametrize(
    ("printed", "spark"),
    [
        (
            f"INSERT INTO t SELECT k, CAST (NULL AS {ROWS}) FROM s -- it's",
            "INSERT INTO t SELECT k, CAST (NULL AS ARRAY<STRUCT<`id`: BIGINT, `name`: STRING>>) "
            "FROM s -- it's",
        ),
        (
            "SELECT CAST(a AS ROW(x BYTES, y TIMESTAMP(3)))",
            "SELECT CAST(a AS STRUCT<`x`: BINARY, `y`: TIMESTAMP_NTZ>)",
        ),
        (
            "SELECT ARRAY[ROW(a, b[1]), row (c, 'x')]",
            "SELECT ARRAY(STRUCT(a, b[1]), STRUCT (c, 'x'))",
        ),
        (
            "SELECT MAP['a', map[b], 'c', f(1, 2)], map[c]",
            "SELECT MAP('a', map[b], 'c', f(1, 2)), map[c]",
        ),
        (
            "SELECT CAST(a AS VARCHAR), CAST(b AS MAP<VARCHAR, INT>), CAST(c AS VARCHAR(3))",
            "SELECT CAST(a AS STRING), CAST(b AS MAP<STRING, INT>), CAST(c AS VARCHAR(3))",
        ),
        ("SELECT a[1], t.array[0], ARRAY[1, 2]", "SELECT a[1], t.array[0], ARRAY(1, 2)"),
        (
            "SELECT k FROM t, UNNEST(items) AS x (a, b)",
            "SELECT k FROM t, LATERAL keyfold_unnest(items) AS x (a, b)",
        ),
        (
            "SELECT k FROM t CROSS JOIN unnest(tags) AS x (tag)",
            "SELECT k FROM t CROSS JOIN LATERAL keyfold_unnest(tags) AS x (tag)",
        ),
        (
            "INSERT INTO t /*+ OPTIONS('a'='1') */ SELECT /*+ COALESCE(1) */ k FROM s "
            "/*+ options ( 'b' = 'it''s', 'c.d'='x' ) */ AS u, v /*+ OPTIONS() */",
            "INSERT INTO t WITH ('a' = '1') SELECT /*+ COALESCE(1) */ k FROM s "
            "WITH ('b' = 'it\\'s', 'c.d' = 'x') AS u, v ",
        ),
        ("SET 'sql-client.execution.result-mode' = 'tableau';",
         "SET `sql-client.execution.result-mode` = `tableau`"),
    ],
)  # fmt: skip
def test_translated(printed: str, spark: str) -> None:
    found = translate(printed)
    assert found is not None
    assert (found.table, found.sql) == ((), spark)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO row (a, b) VALUES (1, 2)",
        "WITH row (a) AS (SELECT 1) SELECT a FROM row",
        "WITH x AS (SELECT 1), row (a) AS (SELECT 1) SELECT a FROM row",
        "SELECT 'ROW(1), UNNEST(a)' -- ARRAY[ROW(1)]",
        "SELECT unnest(a)",
        "SELECT CAST(a AS MULTISET<ROW<x INT>>)",
        "SELECT CAST(a AS TIMESTAMP)",
        "SELECT ARRAY[1, 2",
        "SELECT map[f(1, 2)], map['a']",
        "SELECT k FROM t /*+ OPTIONS(a = 1) */",
        "SELECT k FROM t /* OPTIONS('a' = '1') */",
        "SET 'a' = b",
        "DELETE FROM t WHERE a = ROW(1)",
        "SELEC ROW(1)",
    ],
)
def test_left_alone(statement: str) -> None:
    assert translate(statement) is None
