"""Texts of files become the values that Spark's CAST gives in its ANSI mode, in UTC."""

from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from integration.sessions import conf
from keyfold.tables.rows.conversions.columns import converted
from keyfold.types.sql import from_sql
from tests.random_values import same
from tests.tables.rows.texts.cases import CASES, NARROWER, REFUSED


def test_texts_are_cast_as_in_spark(spark: SparkSession) -> None:
    """`try_cast` gives NULL where CAST fails."""
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    with conf(spark, spark__sql__session__timeZone="UTC"):
        for kind in dict.fromkeys(kind for kind, _, _ in CASES):
            check(spark, kind, {text: value for of, text, value in CASES if of == kind})


def check(spark: SparkSession, kind: str, cases: dict[str, Any]) -> None:
    texts = spark.createDataFrame([(text,) for text in cases], "text STRING")
    cast = texts.selectExpr("text", f"try_cast(text AS {kind}) AS value").toArrow()
    found = dict(zip(cast["text"].to_pylist(), cast["value"].combine_chunks(), strict=True))
    for text, value in cases.items():
        if value == REFUSED:
            assert not found[text].is_valid, (kind, text)
        elif value == NARROWER:
            assert found[text].is_valid, (kind, text)
        else:
            (expected,) = converted([value], from_sql(kind), "")
            assert same(plain(found[text]), plain(expected)), (kind, text)


def plain(value: pa.Scalar) -> Any:
    """The value; days or microseconds of a time, as Python lacks some."""
    is_time = pa.types.is_date(value.type) or pa.types.is_timestamp(value.type)
    return value.value if is_time else value.as_py()
