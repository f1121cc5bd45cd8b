"""Values that nobody should give to procedures, reads, writes and properties of tables: each ends
in an answer or in an error with a condition, keyfold's or Spark's, never in an error of Python.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from keyfold.options import calls, declared

STATEMENTS = int(os.environ.get("KEYFOLD_BAD_VALUES", "40"))  # of each kind; more by hand
PYTHONS = re.compile(
    r"Traceback|In Python:|\b(?:Key|Type|Value|Attribute|Overflow|Index|Recursion|Assertion|OS|"
    r"Lookup|Unicode\w*|ZeroDivision|Arrow\w*|Permission|FileNotFound|IsADirectory|NotADirectory|"
    r"JSONDecode|Name|Runtime|Arithmetic)Error\b|java\.|scala\.|Exception:"
)
# As SQL: NULL, other types, numbers beyond any type, texts that mean something elsewhere.
VALUES = (
    "NULL",
    "true",
    "0",
    "-1",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "1" + "0" * 37,
    "0.5D",
    "1.5",
    "CAST('NaN' AS DOUBLE)",
    "''",
    "' '",
    "'x'",
    "'..'",
    "'a/b'",
    "'$'",
    "'`'",
    "'a=b'",
    "'k=1;v=2,='",
    "','",
    "'1'",
    "'-1'",
    f"'{'9' * 40}'",
    "'1e400'",
    "'NaN'",
    "'true'",
    "'main'",
    "'full'",
    "'k > 0'",
    "'p = '",
    "'π🙂\\0'",
    "'2024-13-45'",
    "'5 lightyears'",
    "DATE'0001-01-01'",
    "TIMESTAMP'9999-12-31 23:59:59'",
    "TIMESTAMP'-0001-01-01 00:00:00'",
    "X'00FF'",
    "array(1)",
    "map('bucket', 'x')",
    "map(1, NULL)",
    "INTERVAL '1' DAY",
)


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> str:
    """Small, with a tag and a branch."""
    name = "keyfold.it.bad_values"
    create_keyed(spark, name, "k INT, v INT, p STRING", key="k, p", by="p")
    spark.sql(f"INSERT INTO {name} VALUES (1, 2, 'x'), (2, 3, 'y')")
    spark.sql("CALL keyfold.sys.create_tag(table => 'it.bad_values', tag => 'x')")
    return name


def check(said: str, run: Callable[[], object]) -> None:
    """Runs it; an error has a condition and a text of its own."""
    try:
        run()
    except PySparkException as error:
        failed = error
    else:
        return
    assert failed.getCondition() not in (None, "INTERNAL_ERROR", "KEYFOLD_ERROR"), said
    assert not PYTHONS.search(str(failed)), f"{said}: {failed}"


def procedures(spark: SparkSession) -> dict[str, list[str]]:
    """The arguments of each after the table."""
    found = {}
    for row in spark.sql("SHOW PROCEDURES IN keyfold.sys").collect():
        lines = spark.sql(f"DESCRIBE PROCEDURE keyfold.sys.{row.procedure_name}").collect()
        shown = " ".join(line[0] for line in lines)
        arguments = re.findall(r"(\w+) (?:STRING|INT|BIGINT|BOOLEAN|TIMESTAMP)[,)]", shown)
        found[row.procedure_name] = arguments[1:]
    return found


def test_arguments_of_procedures(spark: SparkSession, table: str) -> None:
    known = procedures(spark)
    assert known["expire_snapshots"][:2] == ["retain_max", "retain_min"]
    inside = table.removeprefix("keyfold.")
    for name, arguments in itertools.islice(itertools.cycle(known.items()), STATEMENTS * 2):
        used = random.sample(arguments, random.randint(0, min(3, len(arguments))))
        given = {argument: random.choice(VALUES) for argument in used}
        on = random.choice((f"'{inside}'", f"'{inside}'", f"'{inside}'", random.choice(VALUES)))
        listed = ", ".join(f"{name} => {value}" for name, value in {"table": on, **given}.items())
        call = f"CALL keyfold.sys.{name}({listed})"
        check(call, lambda call=call: spark.sql(call).collect())


def texts() -> Iterator[str]:
    """Values without the quotes of SQL."""
    while True:
        yield random.choice(VALUES).strip("'")


def test_options_of_reads(spark: SparkSession, table: str) -> None:
    names = [*calls.READ.options, *calls.READ.sparks, *calls.READ_BETWEEN.options]
    names += ["scan.snapshot-id", "scan.timestamp-millis", "scan.tag-name", "scan.version"]
    for name, text in itertools.islice(
        zip(itertools.cycle(names), texts(), strict=False), STATEMENTS
    ):
        reader = spark.read.option(name, text)
        check(f"read {name}={text}", lambda reader=reader: reader.table(table).collect())
    changes = [*calls.READ_CHANGES.options, *calls.READ_CHANGES.sparks]
    for name, text in itertools.islice(
        zip(itertools.cycle(changes), texts(), strict=False), STATEMENTS // 2
    ):
        reader = spark.read.option("startingVersion", "1").option(name, text)
        check(f"changes {name}={text}", lambda reader=reader: reader.changes(table).collect())


def test_options_of_writes(spark: SparkSession, table: str) -> None:
    frame = spark.sql("SELECT 1 AS k, 2 AS v, 'x' AS p")
    names = [*calls.WRITE.options, *(one.name for one in declared.declared())]
    for name, text in zip(
        random.sample(names, min(len(names), STATEMENTS // 2)), texts(), strict=False
    ):
        writer = frame.writeTo(table).option(name, text)
        check(f"write {name}={text}", lambda writer=writer: writer.append())


def test_properties_of_tables(spark: SparkSession, table: str) -> None:
    names = [one.name for one in declared.declared()]
    for at, name in enumerate(random.sample(names, min(len(names), STATEMENTS))):
        text = next(texts()).replace("\\0", "").replace("'", "")
        alter = f"ALTER TABLE {table} SET TBLPROPERTIES ('{name}' = '{text}')"
        check(alter, lambda alter=alter: spark.sql(alter))
        create = (
            f"CREATE TABLE keyfold.it.bad_{at} (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) "
            f"TBLPROPERTIES ('{name}' = '{text}')"
        )
        check(create, lambda create=create: spark.sql(create))
        check(f"DROP {at}", lambda at=at: spark.sql(f"DROP TABLE IF EXISTS keyfold.it.bad_{at}"))
        unset = f"ALTER TABLE {table} UNSET TBLPROPERTIES IF EXISTS ('{name}')"
        check(unset, lambda unset=unset: spark.sql(unset))
