"""An engine and its options from a module that the application ships: through Spark's processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration import TOP

MODULES = "spark.keyfold.modules"
DDL = (
    "CREATE TABLE {} (k INT, v BIGINT NOT NULL, s STRING, PRIMARY KEY (k) NOT ENFORCED) "
    "TBLPROPERTIES ('merge-engine' = 'closest', 'closest.column' = 'v', '{}' = '10', "
    "'bucket' = '1')"
)


@pytest.fixture(scope="module")
def shipped(spark: SparkSession) -> SparkSession:
    """The session, to which `closest.py` is shipped."""
    session = spark.newSession()
    session.sparkContext.addPyFile(str(Path(TOP) / "tests" / "options" / "closest.py"))
    session.conf.set(MODULES, "closest")
    return session


def test_a_table_of_it(shipped: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    shipped.sql(DDL.format(name, "closest.to"))
    for rows in ("(0, 1, 'a'), (1, 40, 'a')", "(0, 8, 'b'), (1, 30, 'b')", "(0, 12, 'c')"):
        shipped.sql(f"INSERT INTO {name} VALUES {rows}")
    found = [[0, 8, "b"], [1, 30, "b"]]
    assert [list(row) for row in shipped.table(name).orderBy("k").collect()] == found
    shipped.sql(f"CALL keyfold.sys.compact('{name.removeprefix('keyfold.')}')").collect()
    assert [list(row) for row in shipped.table(name).orderBy("k").collect()] == found
    with pytest.raises(PySparkException, match=r"closest\.to can't be changed once"):
        shipped.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('closest.to' = '11')")
    shipped.sql(f"ALTER TABLE {name} RENAME COLUMN v TO w")
    assert [row.w for row in shipped.table(name).orderBy("k").collect()] == [8, 30]


def test_a_misspelled_option(shipped: SparkSession, fresh_name: Callable[[], str]) -> None:
    with pytest.raises(PySparkException, match=r"did you mean closest\.to\?"):
        shipped.sql(DDL.format(fresh_name(), "closest.too"))
