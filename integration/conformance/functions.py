"""Doris' functions in Doris' SQL: some names mean something else to Spark without the catalog's."""

import re
from collections.abc import Collection

from pyspark.sql import SparkSession


def own(spark: SparkSession, catalog: str) -> frozenset[str]:
    """The names of the catalog's functions; aggregates such as `sum` stay Spark's."""
    rows = spark.sql(f"SHOW USER FUNCTIONS IN {catalog}.sys").collect()
    return frozenset(row[0].rpartition(".")[2] for row in rows)


def qualified(text: str, names: Collection[str], catalog: str) -> str:
    """The SQL with the catalog before each call of one of these functions."""
    calls = "|".join(sorted(map(re.escape, names)))
    if not calls:
        return text
    return re.sub(rf"(?<![\w.`])(?=(?:{calls})\s*\()", f"{catalog}.", text, flags=re.IGNORECASE)
