"""CREATE TABLE with a primary key, from what a test says of its table."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from tests.option_names import option_names


def create_keyed(
    spark: SparkSession,
    name: str,
    columns: str,
    key: str = "k",
    by: str = "",
    *,
    folds: Mapping[str, str] | None = None,
    given: Mapping[str, object] | None = None,
    **options: object,
) -> str:
    """Create a table of columns as SQL writes them, and return its name. It is partitioned `by`
    columns; `folds` has aggregate functions by column. Options are arguments (`__` stands for a
    dot, `_` for a dash) or `given` by their names.
    """
    functions = {f"fields.{column}.aggregate-function": f for column, f in (folds or {}).items()}
    stated = option_names(options) | functions | dict(given or {})
    partitions = f" PARTITIONED BY ({by})" if by else ""
    spark.sql(
        f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED)"
        f"{partitions}{properties(stated)}"
    )
    return name


def properties(options: Mapping[str, object]) -> str:
    """The clause TBLPROPERTIES with a space before it; nothing if there are no options."""
    listed = ", ".join(f"'{name}' = '{text_of(value)}'" for name, value in options.items())
    return f" TBLPROPERTIES ({listed})" if listed else ""


def text_of(value: object) -> str:
    """A value of an option as text; truth in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
