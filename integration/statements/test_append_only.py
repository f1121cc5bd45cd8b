"""Tables without a primary key: made and written by pypaimon and Paimon's Java library, read here
row for row; not written, and not made.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.paimon import library
from integration.paimon.library import Paimon
from integration.planning.plans import assert_ours, plan_of
from tests import readers

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string()), ("p", pa.int32())])
FIRST = [(1, "a", 1), (1, "a", 1), (None, None, 2)]
SECOND = [(2, "b", 1), (1, "a", 2)]


@pytest.fixture
def log(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> tuple[str, Path]:
    """A table by day that pypaimon made and both wrote."""
    name = fresh_name().rpartition(".")[2]
    columns = {"k": "BIGINT", "v": "STRING", "p": "INT"}
    readers.create(warehouse, f"it.{name}", columns, by=["p"])
    rows = [dict(zip(SCHEMA.names, row, strict=True)) for row in FIRST]
    readers.write(warehouse, f"it.{name}", pa.Table.from_pylist(rows, SCHEMA))
    folder = warehouse / "it.db" / name
    paimon.write(folder, [library.row("+I", *row) for row in SECOND])
    return f"keyfold.it.{name}", folder


def test_every_row_is_read(spark: SparkSession, paimon: Paimon, log: tuple[str, Path]) -> None:
    name, folder = log
    found = assert_ours(spark.table(name))
    assert "KeyRead" not in plan_of(found)  # no key is all of a key
    assert sorted(map(repr, found.toArrow().to_pylist())) == sorted(
        repr(dict(zip(SCHEMA.names, row, strict=True))) for row in FIRST + SECOND
    )
    theirs = library.table(found.toArrow().schema, paimon.read(folder))
    assert sorted(map(repr, theirs.to_pylist())) == sorted(map(repr, found.toArrow().to_pylist()))
    assert spark.sql(f"SELECT count(*), count(k), max(k), min(v) FROM {name}").collect() == [
        (5, 4, 2, "a")
    ]
    assert spark.sql(f"SELECT k FROM {name} WHERE p = 2 AND k = 1").collect() == [(1,)]
    by_day = spark.sql(f"SELECT p, count(*) FROM {name} GROUP BY p ORDER BY p").collect()
    assert by_day == [(1, 3), (2, 2)]
    assert len(spark.sql(f"SELECT * FROM {name} LIMIT 2").collect()) == 2
    by_path = spark.read.format("keyfold").load(str(folder))
    assert by_path.count() == 5


def test_what_is_said_of_it(spark: SparkSession, log: tuple[str, Path]) -> None:
    name, _ = log
    assert spark.sql(f"CALL keyfold.sys.table_health(table => '{name}')").collect() == []
    assert spark.sql(f"DESCRIBE EXTENDED {name}").count() > 3
    of_files = f"keyfold.it.`{name.rpartition('.')[2]}$files`"
    files = spark.sql(f"SELECT sum(record_count) FROM {of_files}")
    assert files.collect() == [(5,)]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {} VALUES (1, 'a', 1)",
        "INSERT OVERWRITE {} VALUES (1, 'a', 1)",
        "DELETE FROM {} WHERE p = 1",
        "DELETE FROM {}",
        "TRUNCATE TABLE {}",
        "CALL keyfold.sys.compact(table => '{}')",
    ],
)
def test_it_is_not_written(spark: SparkSession, log: tuple[str, Path], statement: str) -> None:
    name, _ = log
    with pytest.raises(PySparkException, match=r"append-only|primary key"):
        spark.sql(statement.format(name)).collect()
    assert spark.table(name).count() == 5


def test_none_is_made(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    with pytest.raises(PySparkException, match=r"has no primary key\. Add PRIMARY KEY"):
        spark.sql(f"CREATE TABLE {name} (k INT, v STRING)")
    assert not spark.catalog.tableExists(name)
