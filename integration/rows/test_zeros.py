"""Keys of FLOAT and DOUBLE through Spark: -0.0 and 0.0 are two keys, which `=` finds equal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

OPTIONS = "'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum', 'bucket' = '2'"
ZEROS, OTHERS = [("-0.0", 22), ("0.0", 11)], [("1.5", 33), ("nan", 44)]


def rows(spark: SparkSession, query: str) -> list[tuple[str, int]]:
    """Keys as texts, in which a zero has its sign, and sums."""
    return sorted((str(row[0]), row[1]) for row in spark.sql(query).collect())


@pytest.fixture
def table(spark: SparkSession, fresh_name: Callable[[], str]) -> str:
    """Two jobs of four keys."""
    name = fresh_name()
    spark.sql(
        f"CREATE TABLE {name} (k DOUBLE, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
        f"TBLPROPERTIES ({OPTIONS})"
    )
    for ones in ((1, 2, 3, 4), (10, 20, 30, 40)):
        values = "(0.0D, {}), (-0.0D, {}), (1.5D, {}), (double('NaN'), {})".format(*ones)
        spark.sql(f"INSERT INTO {name} VALUES {values}")
    return name


CONDITIONS = {
    "k = 0.0D": ZEROS,
    "k = -0.0D": ZEROS,
    "k IN (-0.0D, 7D)": ZEROS,
    "k <=> -0.0D": ZEROS,
    "k < 0.0D": [],
    "k <= -0.0D": ZEROS,
    "k >= 0.0D": ZEROS + OTHERS,
    "k > -0.0D": OTHERS,
    "k != 0.0D": OTHERS,
}


def test_queries_find_both_zeros(spark: SparkSession, table: str) -> None:
    assert rows(spark, f"SELECT * FROM {table}") == ZEROS + OTHERS
    for condition, expected in CONDITIONS.items():
        assert rows(spark, f"SELECT * FROM {table} WHERE {condition}") == expected, condition
    grouped = rows(spark, f"SELECT k, sum(n) FROM {table} GROUP BY k")
    assert grouped == [("0.0", 33), *OTHERS]  # Spark's GROUP BY has one zero
    for zero in ("0.0D", "-0.0D"):
        asked = f"(SELECT {zero} AS k UNION ALL SELECT double('NaN'))"
        joined = f"SELECT t.k, t.n FROM {asked} s JOIN {table} t ON t.k = s.k"
        assert rows(spark, joined) == [*ZEROS, OTHERS[1]]


def test_statements_change_both_zeros(spark: SparkSession, table: str) -> None:
    def merged(key: str, matched: str) -> None:
        spark.sql(
            f"MERGE INTO {table} t USING (SELECT {key} AS k, 5L AS n) s ON t.k = s.k "
            f"WHEN MATCHED THEN {matched} WHEN NOT MATCHED THEN INSERT *"
        )

    def left() -> list[tuple[str, int]]:
        return rows(spark, f"SELECT * FROM {table} WHERE k <= 0")

    spark.sql(f"UPDATE {table} SET n = n + 100 WHERE k = 0.0D")
    assert left() == [("-0.0", 122), ("0.0", 111)]
    merged("-0.0D", "UPDATE SET n = t.n + s.n")
    assert left() == [("-0.0", 127), ("0.0", 116)]
    for words in ("writes key .* 2 times", "matched a single row from the target"):
        key = "explode(array(0.0D, -0.0D))" if "matched" in words else "0.0D"
        with pytest.raises(Exception, match=words):
            merged(key, "UPDATE SET n = t.n + s.n" if "matched" in words else "UPDATE SET *")
    assert left() == [("-0.0", 127), ("0.0", 116)]
    spark.sql(f"DELETE FROM {table} WHERE k IN (SELECT 0.0D)")
    assert left() == []
    spark.sql(f"INSERT INTO {table} VALUES (0.0D, 1)")
    merged("-0.0D", "UPDATE SET *")
    assert left() == [("-0.0", 5)]
